import type { CrosswalkKind } from '../../../crosswalk/kinds.ts';
import type { Candidate, DateForm, DateOrder, ValueCounts } from './package-facts.ts';

export type KnownCandidate = Candidate & {
  /** By kind of name, how many samples stand for exactly one thing on the platform; absent: the crosswalk was not asked. */
  known?: Partial<Record<CrosswalkKind, number>>;
};

type UserField = 'userName' | 'orgDefinedId';

/** The proposed settings, and what they follow from. */
export type Proposal = {
  /** undefined: there was no class to choose by. */
  orgUnit: KnownCandidate | undefined;
  user: (KnownCandidate & { field: UserField }) | undefined;
  /** A person adds the platform's ids to these. */
  roles: { role: string; rows: number }[];
  /** Rows whose role cannot be named in the settings, or is not listed. */
  otherRoles: number;
  /** Which number of a date comes first; `unknown`: a person knows; undefined: all dates have one reading. */
  dateOrder: DateOrder | 'unknown' | undefined;
};

type SurveyFindings = {
  candidates: readonly KnownCandidate[];
  roles: readonly ValueCounts[];
  dateForms: readonly DateForm[];
};

/** Chooses the column with the most known samples or, if none is known, one that is filled in and unique. */
export const proposalOf = ({ candidates, roles, dateForms }: SurveyFindings): Proposal => {
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
    roles: named,
    otherRoles,
    dateOrder: orderIn(dateForms),
  };
};

/** An empty cell names no role. */
const sumsOf = (counts: ValueCounts['counts']): Proposal['roles'] => {
  const sums = new Map<string, number>();
  for (const { value, rows } of counts) if (value !== '') sums.set(value, (sums.get(value) ?? 0) + rows);
  return [...sums].map(([role, rows]) => ({ role, rows }));
};

/** A system writes all of its dates in one form: a date with one reading decides the others. */
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

/** Takes the first of equally good candidates: they are in the order in which they are usual. */
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
  // Without a known sample, a title is no code, and a course is not its class.
  const usual = candidates.filter(({ column }) => column !== 'title' && column !== 'courseCode');
  return byKnown ?? usual.find(isUsable) ?? usual.find(({ filled }) => filled > 0);
};

/** The settings file. A person replaces each null in it. */
export const settingsOf = (proposal: Proposal): object => ({
  ...settingsWith(proposal, () => null),
  ...(proposal.dateOrder && { dateOrder: proposal.dateOrder === 'unknown' ? null : proposal.dateOrder }),
});

/** The settings file in the form that an import accepts: each role has an id of its own. */
export const trialSettingsOf = (proposal: Proposal): object => ({
  ...settingsWith(proposal, (at) => at + 1),
  ...(proposal.dateOrder && proposal.dateOrder !== 'unknown' && { dateOrder: proposal.dateOrder }),
});

const settingsWith = ({ orgUnit, user, roles }: Proposal, idOf: (at: number) => number | null): object => ({
  roles: Object.fromEntries(roles.map(({ role }, at) => [role, idOf(at)])),
  ...(orgUnit && { orgUnitCode: orgUnit.setting }),
  ...(user && { user: { field: user.field, column: user.setting } }),
});
