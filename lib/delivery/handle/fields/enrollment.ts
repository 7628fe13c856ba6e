/** What the ledger's digest of an enrollment is of; reconcile makes the same of what a classlist shows. */
export const roleDigested = (roleId: number): string => `role ${roleId}`;

/** The same where the user is to be in the org unit no more. */
export const removedDigested = 'removed';
