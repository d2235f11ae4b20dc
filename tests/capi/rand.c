#include "tests/capi/testing.h"

void test_rand(void) {
  // Each call goes on where the one before ended.
  enum { Groups = 3, Step = Groups * 256 * 4 };
  static float all[2 * Step], half[Step];
  tw_randn_args args = {.seed = 7, .most_groups = Groups};
  OK(tw_randn(&F32(all, 2 * Step), &args, NULL));
  uint64_t words = 0;
  OK(tw_randn_words(Step, Groups, &words));
  CHECK(words == 4);
  for (int part = 0; part < 2; ++part) {
    args.offset = (uint64_t)part * words;
    OK(tw_randn(&F32(half, Step), &args, NULL));
    CLOSE(half, all + part * Step, Step, 0);
  }
  // The numbers of torch with its seed 0.
  const float wanted[] = {-0.92466F, -0.42534F, -2.64385F, 0.14518F, -0.12087F, -0.57973F};
  OK(tw_randn(&F32(half, COUNT(wanted)), NULL, NULL));
  CLOSE(half, wanted, COUNT(wanted), 5e-6);

  // A prefix is the shorter tensor; streams differ, and no arguments are seed 0 of stream 0.
  tw_normal_args normal = {.seed = 7, .subsequence = 1};
  OK(tw_standard_normal(&F32(all, Step), &normal, NULL));
  OK(tw_standard_normal(&F32(half, 1001), &normal, NULL));
  CLOSE(half, all, 1001, 0);
  normal = (tw_normal_args){0};
  OK(tw_standard_normal(&F32(half, Step), &normal, NULL));
  CHECK(half[0] != all[0] && half[1] != all[1]);
  OK(tw_standard_normal(&F32(all, Step), NULL, NULL));
  CLOSE(half, all, Step, 0);
}
