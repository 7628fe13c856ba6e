import { lacksRight } from '../../../message/failure-kinds.ts';
import { failureOf } from '../../../platform/client/failure-of.ts';
import type { Operation } from '../../../platform/client/operation.ts';
import { errorName } from '../../../runtime/aws/error.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { type ConnectionReport, checkConnection } from '../../../stage/connection/check.ts';
import { type Connection, withConnection } from '../../../stage/connection/connection.ts';
import { loadFunctions } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import type { Group } from '../letters/groups.ts';
import type { SelectedLetter, Selection } from '../letters/list.ts';

/**
 * Why a letter would fail again and what to do first, as far as is known without sending it; undefined: nothing speaks against it.
 * `unchecked`: what decides this was not looked at.
 */
export type Preflight = (letter: SelectedLetter) => { why: string; todo: string } | 'unchecked' | undefined;

export type PreflightOptions = {
  /** Asks the platform, too. */
  probe: boolean;
  /** When the functions last reached the platform: asked if this machine does not reach it. */
  functionsReachedMs?: (() => Promise<number | undefined>) | undefined;
};

/**
 * Asks Secrets Manager for the existing secrets, and with a probe the platform for the current user and that user's rights. Changes
 * nothing. What only the functions reach is not asked: a replay is a message to a function, which decides by itself, and the canary shows
 * what it decided.
 */
export const runPreflight = async (
  target: Target,
  selection: Selection,
  { probe, functionsReachedMs }: PreflightOptions,
): Promise<{ preflight: Preflight; report: ConnectionReport | undefined }> => {
  const signedByUsers = await functionsSignedByUsers();
  const needsSecret = ({ record: { kind, function: name, user } }: SelectedLetter): boolean =>
    kind === 'missing-credential' && user !== undefined && signedByUsers.has(name);
  const asked = { selection, signedByUsers, needsSecret };
  if (!probe && !selection.letters.some(needsSecret)) return { preflight: unreadable, report: undefined };
  const made = await withConnection(target, async (connection) => {
    const [lacksSecret, report] = await Promise.all([
      secretsPreflight(target, connection, asked),
      probe ? reportOf(connection, functionsReachedMs) : undefined,
    ]);
    const refused = report && (await refusalsPreflight(connection, report, asked));
    const preflight: Preflight = (letter) => refused?.(letter) ?? lacksSecret(letter) ?? unreadable(letter);
    return { preflight, report };
  });
  return made ?? { preflight: unreadable, report: undefined };
};

const reportOf = async (
  connection: Connection,
  functionsReachedMs: PreflightOptions['functionsReachedMs'],
): Promise<ConnectionReport> => {
  const report = await checkConnection(connection);
  const reachedMs = report.reachable ? undefined : await functionsReachedMs?.();
  return reachedMs === undefined ? report : { ...report, functionsReachedMs: reachedMs };
};

type AskedLetters = {
  selection: Selection;
  signedByUsers: ReadonlySet<string>;
  needsSecret(letter: SelectedLetter): boolean;
};

/** Letters whose user has no secret yet. */
const secretsPreflight = async (
  target: Target,
  { secretPrefix }: Connection,
  { selection, needsSecret }: AskedLetters,
): Promise<Preflight> => {
  const secretOf = (letter: SelectedLetter): string | undefined =>
    needsSecret(letter) ? `${secretPrefix}/users/${letter.record.user}` : undefined;
  const named = selection.letters.map((letter) => secretOf(letter));
  const secrets = [...new Set(named.flatMap((each) => each ?? []))];
  // As they are all that was selected, they are all looked at.
  const asked = named.includes(undefined) ? secrets.slice(0, maxSecrets) : secrets;
  const knownSecrets = await lookForSecrets(target, asked);
  return (letter) => {
    const secret = secretOf(letter);
    if (secret === undefined || knownSecrets.get(secret)) return undefined;
    if (!knownSecrets.has(secret)) return 'unchecked';
    return { why: 'their secrets do not exist yet', todo: letter.group.remedy };
  };
};

/** Letters that the platform would refuse, or not answer. */
const refusalsPreflight = async (
  connection: Connection,
  report: ConnectionReport,
  { selection, signedByUsers }: AskedLetters,
): Promise<Preflight> => {
  const refusedGroups = report.reachable
    ? await groupsStillRefused(connection, { selection, signedByUsers })
    : new Set<Group>();
  const [problem] = report.problems;
  const isAway = !report.reachable && report.functionsReachedMs === undefined;
  return (letter) => {
    if (isAway && problem) return { why: 'the platform does not answer', todo: problem.remedy };
    if (report.credentialAccepted === false && problem && !signedByUsers.has(letter.record.function))
      return { why: 'the platform refuses the service’s credential', todo: problem.remedy };
    if (refusedGroups.has(letter.group))
      return { why: 'a probe shows that the platform still refuses them', todo: letter.group.remedy };
    const [scope] = letter.record.kind === 'missing-scope' ? letter.group.grants : [];
    if (scope && report.scopes && !report.scopes.includes(scope))
      return { why: `the service’s secret does not ask for the scope ${scope}`, todo: letter.group.remedy };
    return undefined;
  };
};

const unreadable: Preflight = ({ record, group }) =>
  record.kind === 'unreadable' ? { why: 'their messages cannot be read', todo: group.remedy } : undefined;

const functionsSignedByUsers = async (): Promise<Set<string>> =>
  new Set((await loadFunctions()).filter(({ actor }) => actor === 'users').map(({ name }) => name));

/** Asks only whether they exist: only the function that signs with a secret reads it. Without those of which AWS does not say it. */
const lookForSecrets = async (target: Target, names: readonly string[]): Promise<Map<string, boolean>> => {
  const exists = new Map<string, boolean>();
  if (names.length === 0) return exists;
  const { DescribeSecretCommand } = await import('@aws-sdk/client-secrets-manager');
  const client = await target.secretsManager();
  await inParallel(names, async (name) => {
    try {
      const { DeletedDate } = await client.send(new DescribeSecretCommand({ SecretId: name }));
      exists.set(name, DeletedDate === undefined);
    } catch (error) {
      // If the operator may not ask, the canary shows it.
      if (/^AccessDenied/.test(errorName(error))) exists.set(name, true);
      if (errorName(error) === 'ResourceNotFoundException') exists.set(name, false);
    }
  });
  return exists;
};

const maxSecrets = 500;
const maxProbes = 20;

/**
 * If a right is missing, reads what one letter of each group wanted to change: a user who may not read it may not change it either.
 * Any other answer proves nothing; the canary does.
 */
const groupsStillRefused = async (
  { client, site: { apiRoot } }: Connection,
  { selection, signedByUsers }: Pick<AskedLetters, 'selection' | 'signedByUsers'>,
): Promise<Set<Group>> => {
  const samples = new Map<Group, SelectedLetter>();
  for (const letter of selection.letters)
    if (lacksRight(letter.record.kind) && samples.size < maxProbes)
      samples.set(letter.group, samples.get(letter.group) ?? letter);
  const refused = new Set<Group>();
  await Promise.all(
    [...samples].map(async ([group, { record }]) => {
      const [, path = ''] = /^[A-Z]+ ((?:\/[\w.~-]+)+\/?)$/.exec(record.operation ?? '') ?? [];
      const leadsElsewhere = path.split('/').some((segment) => segment === '.' || segment === '..');
      if (leadsElsewhere || !path.startsWith(`${apiRoot}/`)) return;
      const platform = client.for({
        actor: signedByUsers.has(record.function) ? record.user : undefined,
        signal: AbortSignal.timeout(20_000),
        onCall: () => {},
      });
      try {
        await platform.call(reading(path.slice(apiRoot.length)));
      } catch (error) {
        const { kind, required } = failureOf(error);
        if (kind === group.kind && required === record.required) refused.add(group);
      }
    }),
  );
  return refused;
};

const reading = (path: string): Operation<undefined> => ({
  name: 'probe',
  method: 'GET',
  component: undefined,
  path,
  scope: undefined,
  repeatable: true,
  answer: 'acknowledged',
});
