import type { Failure } from '../../message/failure.ts';
import { isRetried, lacksRight } from '../../message/failure-kinds.ts';
import { type Credential, maxSkewSeconds } from '../../platform/auth/auth.ts';
import { remedyOfRefusal } from '../../platform/auth/credentials.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { getWhoAmI, whoAmI } from '../../platform/resources/users.ts';
import { getVersions, listVersions } from '../../platform/resources/versions.ts';
import type { Connection } from './connection.ts';

/** Whether messages can get through, as far as can be known without changing anything. */
export type ConnectionReport = {
  platform: string;
  /** The platform answers, and not only a proxy before it. */
  reachable: boolean;
  /** When the functions last reached it, if the caller's machine does not; undefined: they do not, or it was not asked. */
  functionsReachedMs?: number;
  /** For reading. Undefined: unknown, because the platform or Secrets Manager does not answer. */
  credentialAccepted: boolean | undefined;
  /** It was not tried, because the caller may not read it. */
  isCredentialForbidden?: boolean;
  /** Since when the service's secret holds its credential; undefined: unknown. */
  credentialSinceMs?: number | undefined;
  /** For changes, which a probe must not try: what the functions met, by the ledger. Undefined: there is no ledger. */
  changes: Changes | undefined;
  /** What every message that the service signs would wait for now; undefined: the probe found nothing to wait for. */
  waitingFor: { kind: string; why: string } | undefined;
  /** How far the platform's clock is ahead of AWS', or, if AWS' time is not known, of ours; undefined: unknown. */
  clockSkewSeconds: number | undefined;
  /** How far this machine's clock is ahead of AWS'; undefined: it was not asked. */
  ownSkewSeconds?: number | undefined;
  versions: { component: string; version: string; supported: boolean | undefined }[];
  /** What is left of the platform's budget for all its clients, by the answers to the probe; undefined: it reports none. */
  budget: { remaining: number; endsMs: number } | undefined;
  /** Days until a person must authorize again; undefined: never, or unknown. */
  authorizationDays: number | undefined;
  /** The scopes that are requested with the token; undefined: all that the client was granted, or there is no token. */
  scopes: string[] | undefined;
  /** What is wrong, and who must do what; empty if nothing is wrong. */
  problems: { what: string; remedy: string }[];
};

/** `untried`: the secret was changed after the last refusal, and no change was refused since. */
export type Changes =
  | { refused: 'no' }
  | { refused: 'yes' | 'untried'; since: string; last: string; function: string }
  | { refused: 'unknown'; why: string; remedy: string };

/** A smaller clock difference is no problem: the platform accepts timestamps that are minutes off. */
const muchSkewSeconds = 60;
const fewDays = 7;
const versionsElsewhere = 'Check whether the platform lists its versions at another path.';

export const connectionOperations = [getVersions, getWhoAmI];

/**
 * Reads the service's credential, and asks the platform for its user and its versions. `mayLackSecret`: the caller is a person, whose
 * right to read the secret says nothing about that of the functions. `ownOffsetMs`: how far the clock of that person's machine is behind
 * AWS', so that it is not taken for the platform's.
 */
export const checkConnection = async (
  connection: Connection,
  { mayLackSecret = false, ownOffsetMs }: { mayLackSecret?: boolean; ownOffsetMs?: number | undefined } = {},
): Promise<ConnectionReport> => {
  const platform = connection.client.for({
    actor: undefined,
    operations: connectionOperations,
    signal: AbortSignal.timeout(30_000),
    onCall: () => {},
  });
  const listing = settled(listVersions(platform));
  const reading = connection.serviceCredential();
  const isCredentialForbidden = mayLackSecret && (await reading) === 'forbidden';
  const [listed, user, read] = await Promise.all([
    listing,
    isCredentialForbidden ? untried : settled(whoAmI(platform)),
    reading,
  ]);
  const credential = read === 'forbidden' ? undefined : read;
  const changes = await changesOf(connection, credential?.sinceMs);
  const versions = Object.entries(connection.site.versions).map(([component, version]) => ({
    component,
    version,
    supported: listed.value
      ?.find(({ ProductCode }) => ProductCode.toLowerCase() === component)
      ?.SupportedVersions.includes(version),
  }));
  const offsetMs = platform.clockOffsetMs();
  const budget = connection.client.rateLimiter.budget();
  const report = {
    platform: connection.site.baseUrl,
    reachable: listed.value !== undefined || user.value !== undefined || answered(user.failure),
    credentialAccepted: accepted(user),
    ...(isCredentialForbidden && { isCredentialForbidden }),
    credentialSinceMs: credential?.sinceMs,
    changes,
    waitingFor: waitFor(user.failure) ?? waitForChanges(changes),
    ...clocks(
      connection.signatureSkewSeconds() ?? (offsetMs === undefined ? undefined : offsetMs / 1000),
      ownOffsetMs,
    ),
    versions,
    budget: budget && { remaining: budget.remaining, endsMs: budget.endsMs },
    authorizationDays: daysLeft(credential?.credential, connection.refreshTokenDays),
    scopes: credential?.credential.type === 'oauth' ? credential.credential.scopes : undefined,
  };
  const problems = problemsOf(report, { user: user.failure, listed: listed.failure });
  const refusals = changeProblems(
    report,
    remedyOfRefusal(`${connection.secretPrefix}/service`, credential?.credential.type),
  );
  return { ...report, problems: [...problems, ...refusals, ...(await misspelt(connection))] };
};

/** Call it after the secret was read: an incident that is over by then is not reported. */
const changesOf = async (
  { refusedChanges }: Connection,
  secretSinceMs: number | undefined,
): Promise<Changes | undefined> => {
  try {
    const incident = await refusedChanges?.();
    if (incident === undefined) return refusedChanges && { refused: 'no' };
    const { sinceMs, lastMs, function: name } = incident;
    const [since = '', last = ''] = [sinceMs, lastMs].map((ms) => new Date(ms).toISOString());
    const isUntried = secretSinceMs !== undefined && secretSinceMs > lastMs;
    return { refused: isUntried ? 'untried' : 'yes', since, last, function: name };
  } catch (error) {
    const { message, remedy } = failureOf(error);
    return { refused: 'unknown', why: message, remedy };
  }
};

/** `2026-03-01 09:12 UTC`. */
export const minuteOf = (instant: string): string => `${instant.slice(0, 16).replace('T', ' ')} UTC`;

const refusedSince = (since: string): string =>
  `Since ${minuteOf(since)}, the platform refuses the service's credential for changes`;

const changeProblems = (
  { changes, credentialAccepted }: Pick<ConnectionReport, 'changes' | 'credentialAccepted'>,
  remedy: string,
): ConnectionReport['problems'] => {
  if (changes?.refused === 'unknown')
    return [
      {
        what: `It is not known whether the platform refuses changes: ${changes.why}`,
        remedy: changes.remedy,
      },
    ];
  // A credential that is refused for reading, too, is reported already.
  if (changes?.refused !== 'yes' || credentialAccepted === false) return [];
  const { since, last, function: name } = changes;
  const reading = credentialAccepted ? '; it accepts the credential for reading' : '';
  return [{ what: `${refusedSince(since)}, last at ${minuteOf(last)} in ${name}${reading}`, remedy }];
};

const waitForChanges = (changes: Changes | undefined): ConnectionReport['waitingFor'] =>
  changes?.refused === 'yes' ? { kind: 'credentials', why: refusedSince(changes.since) } : undefined;

/** The functions ignore overrides of operations that they do not know: only this check can find a misspelt name. */
const misspelt = async ({ site }: Connection): Promise<ConnectionReport['problems']> => {
  const overridden = Object.keys(site.overrides);
  if (overridden.length === 0) return [];
  // Few sites override any, and all operations with their schemas take longer to load than the rest of the check.
  const { operations } = await import('../../platform/resources/operations.ts');
  const unknown = overridden.filter((each) => !operations.some(({ name }) => name === each));
  if (unknown.length === 0) return [];
  const what = `PLATFORM_OPERATIONS names unknown operations: ${unknown.join(', ')}`;
  const remedy =
    'Use the names in the table of lib/platform/README.md. Until then this setting has no effect.';
  return [{ what, remedy }];
};

const problemsOf = (
  report: Omit<ConnectionReport, 'problems'>,
  { user, listed }: { user: Failure | undefined; listed: Failure | undefined },
): ConnectionReport['problems'] => {
  const { reachable, versions, clockSkewSeconds = 0, ownSkewSeconds = 0 } = report;
  const { authorizationDays = Number.POSITIVE_INFINITY } = report;
  return [
    ...(listed && !reachable ? [{ what: listed.message, remedy: listed.remedy }] : []),
    // An unreachable platform is reported above; an unreadable secret is a separate problem.
    ...(user && (reachable || user.operation === undefined)
      ? [{ what: user.message, remedy: user.remedy }]
      : []),
    // If both calls fail for the same reason, it is reported once.
    ...(listed && reachable && listed.kind !== user?.kind
      ? [{ what: listed.message, remedy: listed.kind === 'rejected' ? versionsElsewhere : listed.remedy }]
      : []),
    ...versions
      .filter(({ supported }) => supported === false)
      .map(({ component, version }) => ({
        what: `The platform does not list version ${version} of ${component}`,
        remedy: `Set ${component}Version of the stage to a version that the platform lists.`,
      })),
    ...(Math.abs(ownSkewSeconds) >= muchSkewSeconds
      ? [
          {
            what: `The clock of this machine is ${skewOf(ownSkewSeconds)} AWS’`,
            remedy: 'Set it. The functions have clocks of their own, and are not affected.',
          },
        ]
      : []),
    ...(Math.abs(clockSkewSeconds) >= muchSkewSeconds
      ? [
          {
            what: `The platform's clock is ${skewOf(clockSkewSeconds)} ${report.ownSkewSeconds === undefined ? 'ours' : 'AWS’'}`,
            remedy:
              Math.abs(clockSkewSeconds) > maxSkewSeconds
                ? 'Have the people who run the platform correct it: the functions sign for no time that is more than a day from theirs.'
                : 'Do nothing here: the functions adjust to the platform’s clock. Tell the people who run the platform.',
          },
        ]
      : []),
    ...(authorizationDays < fewDays
      ? [
          {
            what: `The authorization ends in ${Math.max(0, authorizationDays)} days`,
            remedy: 'A person must authorize sis-relay again on the platform.',
          },
        ]
      : []),
  ];
};

/** Only a refresh token expires: keys and client credentials last until somebody revokes them. */
const daysLeft = (
  credential: Credential | undefined,
  refreshTokenDays: number | undefined,
): number | undefined => {
  if (credential?.type !== 'oauth') return undefined;
  if (credential.refused) return 0;
  if (credential.grant !== 'refresh_token' || refreshTokenDays === undefined || !credential.obtainedAt)
    return undefined;
  const passedDays = (Date.now() - Date.parse(credential.obtainedAt)) / 86_400_000;
  return Math.floor(refreshTokenDays - passedDays);
};

type ValueOrFailure<Value> = { value?: Value; failure?: Failure };

const untried: ValueOrFailure<never> = {};

const settled = async <Value>(promise: Promise<Value>): Promise<ValueOrFailure<Value>> => {
  try {
    return { value: await promise };
  } catch (error) {
    return { failure: failureOf(error) };
  }
};

/** A missing right does not mean a refused credential: the platform knows the user. */
const accepted = ({ value, failure }: ValueOrFailure<unknown>): boolean | undefined => {
  if (value !== undefined || lacksRight(failure?.kind)) return true;
  return failure?.kind === 'credentials' ? false : undefined;
};

const waitFor = (failure: Failure | undefined): ConnectionReport['waitingFor'] =>
  failure && isRetried(failure.kind) ? { kind: failure.kind, why: failure.message } : undefined;

/** Of whole seconds: the head of an answer has no more. A difference of less than two is none. */
const clocks = (
  skewSeconds: number | undefined,
  ownOffsetMs: number | undefined,
): Pick<ConnectionReport, 'clockSkewSeconds' | 'ownSkewSeconds'> => {
  const ownSeconds = ownOffsetMs === undefined ? 0 : -ownOffsetMs / 1000;
  return {
    clockSkewSeconds: skewSeconds === undefined ? undefined : Math.round(skewSeconds + ownSeconds),
    ...(ownOffsetMs !== undefined && { ownSkewSeconds: Math.round(ownSeconds) }),
  };
};

/** `12 s behind`, `12 h ahead of`. */
export const skewOf = (seconds: number): string => {
  const size = Math.abs(seconds);
  const [count, unit] =
    size < 120
      ? [size, 's']
      : size < 7_200
        ? [size / 60, 'min']
        : size < 172_800
          ? [size / 3_600, 'h']
          : [size / 86_400, 'd'];
  return `${Math.round(count)} ${unit} ${seconds < 0 ? 'behind' : 'ahead of'}`;
};

/** A refusal by the platform is an answer, too. */
const answered = (failure: Failure | undefined): boolean =>
  failure?.status !== undefined && failure.status < 500 && failure.kind !== 'intercepted';
