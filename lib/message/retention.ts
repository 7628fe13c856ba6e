/** For how long the ledger remembers: as long as a message and its letter can live, 14 days each, and some days more. */
export const memoryDays = 35;

/** Clocks of producers may be an hour ahead, and nobody wants to be close to the edge. */
const marginDays = 1;

/** A message older than this is not sent where nothing is known of its resource: something newer may be forgotten. */
export const outdatedAfterDays = memoryDays - marginDays;
