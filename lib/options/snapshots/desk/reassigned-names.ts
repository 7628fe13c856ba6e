import { randomUUID } from 'node:crypto';
import { reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { audited } from '../../../desk/stage-state/execution.ts';
import { unlessError } from '../../../runtime/aws/error.ts';
import { actorOf } from '../../../stage/actor.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { CommandName } from '../../../stage/roles.ts';
import type { Target } from '../../../stage/target.ts';
import type { UserField } from '../package/settings-file.ts';
import {
  type AcceptedNames,
  acceptedNamesPrefix,
  isSame,
  type ReassignedName,
  readAcceptedNames,
  reassignedFeedsPrefix,
  reassignedIn,
  reassignedKey,
} from '../state/reassigned-names.ts';

type Open = { field: UserField; names: ReassignedName[] };

/** Names that passed and that no operator has accepted. @throws AccessDenied if that cannot be read. */
const readOpen = async (target: Target, signal: AbortSignal): Promise<Open | undefined> => {
  const { jsonIfAny, namesUnder } = await reviewBucketOf(target);
  const keys = [reassignedKey, ...(await namesUnder(reassignedFeedsPrefix, signal))];
  const found = (await Promise.all(keys.map(jsonIfAny))).flatMap((json) => reassignedIn(json) ?? []);
  const [first] = found;
  if (first === undefined) return undefined;
  // The settings name users in one way.
  const { field } = first;
  const names = found.flatMap((each) => (each.field === field ? each.names : []));
  if (names.length === 0) return { field, names };
  const acceptances = await readAcceptedNames(await namesUnder(acceptedNamesPrefix, signal), jsonIfAny);
  const accepted = Map.groupBy(
    acceptances.filter((each) => each.field === field).flatMap((each) => each.names),
    ({ name }) => name,
  );
  const isOpen = (each: ReassignedName): boolean =>
    !(accepted.get(each.name) ?? []).some((same) => isSame(same, each));
  return { field, names: names.filter(isOpen).sort((one, other) => one.sinceMs - other.sinceMs) };
};

/**
 * User names that passed to another record of the SIS while the crosswalk gives the former one's account, by the last export that was
 * compared, unless an operator has accepted that both records are one person. Undefined: it cannot be read with these rights.
 */
export const listReassigned = (target: Target, signal: AbortSignal): Promise<ReassignedName[] | undefined> =>
  unlessError(/^AccessDenied$/, async () => (await readOpen(target, signal))?.names ?? []);

type AcceptOptions = {
  /** `all`: all that are open. */
  names: readonly string[] | 'all';
  reason?: string | undefined;
  command: CommandName;
  audit: Audit;
  signal: AbortSignal;
  confirm(chosen: ReassignedName[]): Promise<boolean>;
};

/**
 * Accepts that the records that have these names now are the people to whom the accounts belong. Undefined: the operator declined.
 * @throws RefusedError if one of the names is not open.
 */
export const acceptNames = async (
  target: Target,
  { names, reason, command, audit, signal, confirm }: AcceptOptions,
): Promise<ReassignedName[] | undefined> => {
  const open = await readOpen(target, signal);
  const chosen = open?.names.filter(({ name }) => names === 'all' || names.includes(name)) ?? [];
  const others = names === 'all' ? [] : names.filter((each) => chosen.every(({ name }) => name !== each));
  if (others.length > 0)
    throw new RefusedError(
      `No user name that passed to another record is ${others.join(' or ')}. \`crosswalk moved\` lists those that wait. Accept codes of org units one at a time.`,
    );
  if (open === undefined || chosen.length === 0)
    throw new RefusedError('No user name that passed to another record waits to be accepted.');
  if (!(await confirm(chosen)) || signal.aborted) return undefined;
  const at = new Date().toISOString();
  const key = `${acceptedNamesPrefix}${at.replace(/[-:]|\.\d+/g, '')}-${randomUUID().slice(0, 8)}.json`;
  const count = chosen.length;
  // The object has the names: there may be very many.
  const entry = { reason, counts: { planned: count }, filter: { userNames: count, key } };
  await audited(audit, { command, ...entry, done: 'accepted', count }, async () => {
    const { writeJson } = await reviewBucketOf(target);
    const accepted: AcceptedNames = {
      field: open.field,
      by: await actorOf(target),
      at,
      ...(reason !== undefined && { reason }),
      names: chosen.map(({ name, userId, record }) => ({ name, userId, record })),
    };
    await writeJson(key, accepted);
  });
  return chosen;
};
