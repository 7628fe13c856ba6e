import type { Target } from '../../stage/target.ts';
import type { WaitingGroup } from './waiting.ts';

/** As the functions name the secret of a refused credential, if it is a single one. */
const secretIn = /^The platform refuses the credential in the secret ([^\s<>]+)$/;

/**
 * Tells of causes that are refused credentials whether their secret was changed after the last try: then they may be gone, though
 * messages still wait for their next try. `serviceSinceMs`: since when the service's secret holds what it holds.
 */
export const withMended = (
  target: Target,
  groups: readonly WaitingGroup[],
  serviceSinceMs: number | undefined,
): Promise<WaitingGroup[]> =>
  Promise.all(
    groups.map(async (group) => {
      const [, name] = secretIn.exec(group.error) ?? [];
      if (name === undefined) return group;
      const changedMs = name.endsWith('/service') ? serviceSinceMs : await changedMsOf(target, name);
      return changedMs !== undefined && changedMs > group.lastMs ? { ...group, mendedMs: changedMs } : group;
    }),
  );

/** Undefined if the operator may not ask. */
const changedMsOf = async (target: Target, name: string): Promise<number | undefined> => {
  const { DescribeSecretCommand } = await import('@aws-sdk/client-secrets-manager');
  const asked = new DescribeSecretCommand({ SecretId: name });
  try {
    const { LastChangedDate } = await (await target.secretsManager()).send(asked);
    return LastChangedDate?.getTime();
  } catch {
    return undefined;
  }
};
