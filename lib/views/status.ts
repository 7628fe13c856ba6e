import { type ConnectionReport, minuteOf, skewOf } from '../connection/check.ts';
import type { PaceStatus, Status } from '../connection/status.ts';
import { isStopped, type PausedFunction } from '../deployment/pause.ts';
import { plain } from '../redaction/printable.ts';
import type { Incident } from '../telemetry/incidents.ts';
import type { PauseRecord } from '../telemetry/pauses.ts';
import { ageOf, countOf, numberOf, partOf } from './amounts.ts';
import { type Note, noteIf, type Tone } from './view.ts';
import { remarksOn } from './waiting.ts';

/** All that is known of the connection to the platform. */
export const connectionNotes = (report: ConnectionReport | undefined): Note[] =>
  report === undefined
    ? [
        {
          tone: 'plain',
          text: 'The platform was not asked, because its address is not known: PLATFORM_URL is not set.',
        },
      ]
    : [...healthNotes(report), ...concernNotes(report)];

/** Whether all is well, as far as it is known: `warn` is not known. */
export const healthNotes = (report: ConnectionReport): [platform: Note, credential: Note, versions: Note] => {
  const { reachable, platform, versions } = report;
  const known = versions.map(({ component, version }) => `${component} ${version}`).join(', ');
  return [
    {
      tone: reachable ? 'good' : 'bad',
      text: `${reachable ? 'The platform answers' : 'The platform does not answer'}: ${platform}`,
    },
    credentialNote(report),
    {
      tone: versions.every(({ supported }) => supported !== false) ? 'good' : 'bad',
      text: `Versions in use: ${known}`,
    },
  ];
};

/** Reading proves nothing about changes: some platforms accept a key for GET that they refuse for a change. */
const credentialNote = ({ credentialAccepted, changes }: ConnectionReport): Note => {
  const note = (tone: Tone, text: string): Note => ({ tone, text });
  if (credentialAccepted === false) return note('bad', 'It refuses the service’s credential');
  if (changes?.refused === 'yes')
    return note(
      'bad',
      `${credentialAccepted ? 'It accepts the service’s credential for reading, but' : 'It'} has refused it for changes since ${minuteOf(changes.since)}`,
    );
  if (credentialAccepted === undefined)
    return note('warn', 'It is not known whether it accepts the service’s credential');
  if (changes?.refused === 'untried')
    return note(
      'warn',
      `It accepts the service’s credential for reading. For changes, it refused the one that the secret held until ${minuteOf(changes.last)}; the new one was not tried yet`,
    );
  if (changes?.refused === 'no')
    return note('good', 'It accepts the service’s credential, and has not refused it for a change lately');
  return note('warn', 'It accepts the service’s credential for reading. For changes, this is not known');
};

/** What else a person should know, and each problem with what to do. */
export const concernNotes = ({
  clockSkewSeconds = 0,
  authorizationDays,
  problems,
}: Pick<ConnectionReport, 'clockSkewSeconds' | 'authorizationDays' | 'problems'>): Note[] => [
  ...noteIf(Math.abs(clockSkewSeconds) >= 2, 'plain', `Its clock is ${skewOf(clockSkewSeconds)} ours`),
  ...noteIf(
    authorizationDays !== undefined,
    'plain',
    `A person must authorize again in ${countOf(Math.max(0, authorizationDays ?? 0), 'day')}`,
  ),
  ...problems.flatMap(({ what, remedy }): Note[] => [
    { tone: 'bad', text: plain(what) },
    { tone: 'todo', text: plain(remedy) },
  ]),
];

/** What the platform grants, and what is left of it. */
export const windowText = (window: PaceStatus['window']): string => {
  if (window === undefined) return 'The platform’s budget is not known.';
  if (window === 'none') return 'The platform does not report a budget.';
  const { remaining, endsMs, budget, used } = window;
  const renewed = `it is renewed in ${Math.max(0, Math.ceil((endsMs - Date.now()) / 1000))} s`;
  return budget === undefined || used === undefined
    ? `The platform’s budget: ${numberOf(remaining)} credits are left; ${renewed}.`
    : `The platform’s budget: ${numberOf(budget)} credits, of which ${numberOf(used)} (${partOf(used, budget)}) are used; ${renewed}.`;
};

/** Where no calls are known. */
export const noCallsText = ({ calls, sinceMs }: Pick<PaceStatus, 'calls' | 'sinceMs'>): string =>
  calls
    ? `No function has called the platform since ${hourOf(sinceMs)}.`
    : 'The calls of functions are not known.';

/** `12:05 UTC`. */
export const hourOf = (ms: number): string => `${new Date(ms).toISOString().slice(11, 16)} UTC`;

/** One that AWS cannot be asked about is as its record says. */
export const isPaused = ({ state }: PausedFunction): boolean => state === undefined || isStopped(state);

export const pausesUnknown = 'It is not known whether functions are paused.';

export const pausedText = (paused: PausedFunction): string => {
  const { function: name, state, sinceMs, who, isFiltered } = paused;
  if (isFiltered)
    return plain(
      `The event-source mapping of ${name} has a filter: messages that do not match it are deleted unseen. Remove the filter on AWS, then have the SIS send the missing messages again.`,
    );
  const since = sinceMs === undefined ? '' : ` since ${minuteOf(new Date(sinceMs).toISOString())}`;
  const mapping = 'its event-source mapping';
  if (who === undefined)
    return plain(
      `${name} is paused (${state})${since}: ${mapping} was changed on AWS, and no reason was recorded.`,
    );
  const byWhom = pauseText(paused);
  return isPaused(paused)
    ? plain(`${name} is paused (${state ?? 'as recorded; AWS could not be asked'}) ${byWhom}`)
    : plain(
        `${name} was paused ${byWhom}; but ${mapping} is ${state}. It was changed on AWS, or the change is not finished.`,
      );
};

type Told = { [Fact in keyof PauseRecord]?: PauseRecord[Fact] | undefined };

/** `since 2026-03-01 09:12 UTC by jane: the platform is moving`. */
export const pauseText = ({ sinceMs = 0, who = '', reason = '' }: Told): string =>
  plain(`since ${minuteOf(new Date(sinceMs).toISOString())} by ${who}: ${reason}`);

/** What a function waits for until a person acts. */
export const incidentNotes = (incident: Incident): Note[] => {
  const { function: name, kind, sinceMs, lastMs, message, remedy } = incident;
  const since = minuteOf(new Date(sinceMs).toISOString());
  return [
    { tone: 'bad', text: plain(`${name} (${kind}) since ${since}, last ${ageOf(lastMs)} ago: ${message}`) },
    { tone: 'todo', text: plain(remedy) },
  ];
};

/**
 * Why messages wait: the functions tell it. Of those that they did not tell of, the probe of the platform may have met the reason.
 * @param log what adds the functions' log to a trace: the option of the command, by its name.
 */
export const waitingTexts = (
  { queues, connection, incidents, waiting }: Pick<Status, 'queues' | 'connection' | 'incidents' | 'waiting'>,
  log?: string,
): string[] => {
  const count = queues.reduce((sum, { inFlight, delayed }) => sum + inFlight + delayed, 0);
  const told = waiting.reduce((sum, { messages, due, unknown }) => sum + messages - due - unknown, 0);
  const why =
    connection === undefined
      ? 'The cause is not known, because the platform was not asked.'
      : connection.waitingFor
        ? `They wait (${connection.waitingFor.kind}): ${plain(connection.waitingFor.why)}.`
        : incidents?.length
          ? 'The known causes are listed below. All other messages are being handled, or are tried again within 30 minutes.'
          : 'A probe of the platform found no cause: they are being handled, or are tried again within 30 minutes. If single calls are refused, the log of the function shows why.';
  const others = Math.max(0, count - told);
  const flying = `${countOf(count, 'message is', 'messages are')} in flight.`;
  if (waiting.length === 0) return count === 0 ? ['Nothing waits.'] : [`${flying} ${why}`];
  return [
    ...remarksOn(waiting, log),
    ...(others > 0
      ? [
          `${flying} ${countOf(others, 'is', 'are')} being handled, or ${others === 1 ? 'waits' : 'wait'} for ${others === 1 ? 'its' : 'their'} turn to call the platform.`,
        ]
      : []),
  ];
};
