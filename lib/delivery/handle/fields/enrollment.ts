import { findInClasslist } from '../../../platform/resources/classlists.ts';
import type { IntegrationContext, PlatformState } from '../integration.ts';

/** The value whose digest the ledger keeps for an enrollment; reconcile derives the same value from a classlist. */
export const roleEffect = (roleId: number): string => `role ${roleId}`;

/** The same for a removed enrollment. */
export const removedEffect = 'removed';

/** The same of what the platform shows. */
export const readEnrollmentState = async (
  enrollment: { orgUnitId: number; userId: number },
  { platform }: IntegrationContext,
): Promise<PlatformState> => {
  const user = await findInClasslist(platform, enrollment);
  // A classlist can hide the role.
  const whole = user && (typeof user.RoleId === 'number' ? roleEffect(user.RoleId) : undefined);
  return { fields: { whole: user === undefined ? removedEffect : whole }, changedMs: Number.NaN };
};
