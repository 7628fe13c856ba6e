import type { CrosswalkKind } from '../../crosswalk/kinds.ts';
import type { Candidate, DateForm, DateOrder, ValueCounts } from './package-facts.ts';

export type KnownCandidate = Candidate & {
  /** How many of the samples stand for one thing on the platform, by what they are taken for; absent: the crosswalk was not asked. */
  known?: Partial<Record<CrosswalkKind, number>>;
};

type UserField = 'userName' | 'orgDefinedId';

/** What settings are proposed, and from what. */
export type Proposal = {
  /** undefined: no class was there to choose by. */
  orgUnit: KnownCandidate | undefined;
  user: (KnownCandidate & { field: UserField }) | undefined;
  /** In which a person fills in the platform's ids. */
  roles: { role: string; rows: number }[];
  /** Rows whose role cannot be named in the settings, or is not listed. */
  otherRoles: number;
  /** Which number of a date comes first; `unknown`: a person knows; undefined: all dates have one reading. */
  dateOrder: DateOrder | 'unknown' | undefined;
};

type Found = {
  candidates: readonly KnownCandidate[];
  roles: readonly ValueCounts[];
  dateForms: readonly DateForm[];
};

/** Chooses what most of the samples are known by; if nothing is known, what is filled in and unique. */
export const proposalOf = ({ candidates, roles, dateForms }: Found): Proposal => {
  const classes = candidates.filter(({ file }) => file !== 'users.csv');
  const users = candidates
    .filter(({ file }) => file === 'users.csv')
    .flatMap((each) => userFields(each).map((field) => ({ ...each, field })));
  const counts = sumsOf(roles.flatMap(({ counts }) => counts));
  const isNamed = (role: string): boolean => JSON.stringify(role) === `"${role}"`;
  const named = counts.filter(({ role }) => isNamed(role));
  const otherRoles = [
    ...counts.filter(({ role }) => !isNamed(role)).map(({ rows }) => rows),
    ...roles.map(({ others }) => others),
  ].reduce((sum, rows) => sum + rows, 0);
  return {
    orgUnit: best(classes, ({ known }) => known?.orgUnitCode),
    user: best(users, ({ known, field }) => known?.[field]),
    ...{ roles: named, otherRoles, dateOrder: orderIn(dateForms) },
  };
};

/** An empty cell names no role. */
const sumsOf = (counts: ValueCounts['counts']): Proposal['roles'] => {
  const sums = new Map<string, number>();
  for (const { value, rows } of counts) if (value !== '') sums.set(value, (sums.get(value) ?? 0) + rows);
  return [...sums].map(([role, rows]) => ({ role, rows }));
};

/** A system writes all of its dates alike: one that has one reading tells it of the others. */
const orderIn = (forms: readonly DateForm[]): Proposal['dateOrder'] => {
  const orders = new Set(forms.flatMap(({ order }) => order ?? []));
  const isUnknown = orders.delete('unknown');
  const [order, other] = orders;
  if (order !== undefined && other === undefined) return order;
  return isUnknown || other !== undefined ? 'unknown' : undefined;
};

/** A login is a user name before it is anything else; other columns may be either. */
const userFields = ({ column }: Candidate): UserField[] =>
  column === 'identifier' ? ['orgDefinedId', 'userName'] : ['userName', 'orgDefinedId'];

/** The first of those that are equally good: candidates stand in the order in which they are usual. */
const best = <Each extends KnownCandidate>(
  candidates: readonly Each[],
  knownOf: (each: Each) => number | undefined,
): Each | undefined => {
  const byKnown = candidates.reduce<Each | undefined>(
    (chosen, each) =>
      (knownOf(each) ?? 0) > (chosen === undefined ? 0 : (knownOf(chosen) ?? 0)) ? each : chosen,
    undefined,
  );
  const isUsable = ({ filled, empty, doubles }: Each): boolean =>
    filled > 0 && empty <= filled / 10 && doubles <= filled / 10;
  // A title is a code on no platform that does not know it, and a course is not its class.
  const usual = candidates.filter(({ column }) => column !== 'title' && column !== 'courseCode');
  return byKnown ?? usual.find(isUsable) ?? usual.find(({ filled }) => filled > 0);
};

/** The settings file. What is null in it, a person fills in. */
export const settingsOf = (proposal: Proposal): object => ({
  ...settingsWith(proposal, () => null),
  ...(proposal.dateOrder && { dateOrder: proposal.dateOrder === 'unknown' ? null : proposal.dateOrder }),
});

/** The same as an import takes it: each role has an id, another one each. */
export const trialSettingsOf = (proposal: Proposal): object => ({
  ...settingsWith(proposal, (at) => at + 1),
  ...(proposal.dateOrder && proposal.dateOrder !== 'unknown' && { dateOrder: proposal.dateOrder }),
});

const settingsWith = ({ orgUnit, user, roles }: Proposal, idOf: (at: number) => number | null): object => ({
  roles: Object.fromEntries(roles.map(({ role }, at) => [role, idOf(at)])),
  ...(orgUnit && { orgUnitCode: orgUnit.setting }),
  ...(user && { user: { field: user.field, column: user.setting } }),
});
