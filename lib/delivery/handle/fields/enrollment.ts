/** The value whose digest the ledger keeps for an enrollment; reconcile derives the same value from a classlist. */
export const roleDigested = (roleId: number): string => `role ${roleId}`;

/** The same for a removed enrollment. */
export const removedDigested = 'removed';
