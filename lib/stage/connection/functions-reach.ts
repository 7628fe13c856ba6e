import { type PlatformReach, readReach } from '../../runtime/telemetry/platform-reach.ts';
import type { Target } from '../target.ts';

/** A check by the functions is older than this if connection-check does not run. */
const checkedWithinMs = 20 * 60_000;

export const isRecent = ({ atMs }: Pick<PlatformReach, 'atMs'>): boolean =>
  Date.now() - atMs < checkedWithinMs;

/** Whether the functions reach the platform. Undefined: connection-check has reported nothing, or there is no ledger. */
export const functionsReach = async ({
  dynamodb,
  ledgerTable: table,
}: Target): Promise<PlatformReach | undefined> =>
  table === undefined ? undefined : readReach({ dynamodb, table, nowMs: Date.now });

/** When the functions last reached the platform. Undefined: they do not, or it is not known. */
export const functionsReachedMs = async (target: Target): Promise<number | undefined> => {
  const reach = await functionsReach(target).catch(() => undefined);
  return reach?.isReached && isRecent(reach) ? reach.atMs : undefined;
};
