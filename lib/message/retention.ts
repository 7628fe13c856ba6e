/** The ledger's memory: as long as a message and its letter can live, 14 days each, and some days more. */
export const memoryDays = 35;

/** Producers' clocks may be an hour ahead; this leaves room. */
const marginDays = 1;

/** An older message is not sent if nothing is known of its resource: a newer one may be forgotten. */
export const outdatedAfterDays = memoryDays - marginDays;
