const minuteMs = 60_000;

/** They end what hangs, and nothing else: how long a test takes depends on what else the machine does. */
export const testLimitMs = 10 * minuteMs;
/** Less, so that the test says what it waited for. */
export const waitLimitMs = 5 * minuteMs;
