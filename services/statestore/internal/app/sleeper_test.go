package app_test

const sleeperURL = "INTERLOCK_TEST_SLEEPER"

func sleep() int { return 0 }
