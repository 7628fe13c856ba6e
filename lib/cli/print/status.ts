import { type ConnectionReport, minuteOf, skewOf } from '../../connection/check.ts';
import type { PaceStatus, QueueStatus, Status } from '../../connection/status.ts';
import type { Group } from '../../dead-letters/reading/groups.ts';
import { isStopped, type PausedFunction } from '../../deployment/pause.ts';
import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import type { Incident } from '../../telemetry/incidents.ts';
import type { CallCount } from '../../telemetry/pace-use.ts';
import type { PauseRecord } from '../../telemetry/pauses.ts';
import { remarks } from './letters.ts';
import { ageOf, countOf, numberOf, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';
import { remarksOn, waitingGroupLines, wakeOf } from './waiting.ts';

export const statusLines = (
  status: Status,
  { terminal, target }: { terminal: Terminal; target: Target },
): string[] => {
  const { style, width } = terminal;
  const { queues, letters, connection } = status;
  const [queueHeader = '', ...queueRows] = tableOf(
    ['Queue', right('Visible'), right('In flight'), right('Delayed'), right('Oldest seen')],
    [...queues, deadLettersOf(letters)].map(({ function: name, visible, inFlight, delayed, oldestMs }) => [
      status.paused?.some((each) => each.function === name && isPaused(each)) ? `${name} (paused)` : name,
      ...[visible, inFlight, delayed].map((count) => (count === 0 ? '–' : numberOf(count))),
      oldestMs === undefined ? '–' : ageOf(oldestMs),
    ]),
    width,
  );
  const kinds = byKind(letters.groups);
  const [kindHeader = '', ...kindRows] = tableOf(
    [right('Letters'), 'Kind', right('Oldest'), right('Newest')],
    kinds.map(({ kind, letters: count, oldestMs, newestMs }) => [
      numberOf(count),
      kind,
      ageOf(oldestMs),
      ageOf(newestMs),
    ]),
    width,
  );
  return [
    style('bold', target.prefix.slice(0, -1)),
    '',
    ...connectionLines(connection, terminal),
    '',
    ...paceLines(status.pace, terminal),
    '',
    style('dim', queueHeader),
    ...queueRows,
    ...pausedLines(status.paused, terminal),
    ...waitingLines(status, terminal),
    ...(status.incidents ?? []).flatMap((incident) => incidentLines(incident, terminal)),
    '',
    ...(letters.unread === undefined
      ? kinds.length === 0
        ? ['There are no dead letters.']
        : [style('dim', kindHeader), ...kindRows]
      : wrapped(plain(letters.unread), width, '  ').map((line) => style('red', line))),
    ...remarks(letters, terminal),
    ...(kinds.length === 0
      ? []
      : wrapped(`What to do about them: ${terminal.command('letters groups')}`, width, '  ').map((line) =>
          style('dim', line),
        )),
  ];
};

const deadLettersOf = ({ counts, groups }: Status['letters']): QueueStatus => ({
  function: 'dead-letters',
  ...counts,
  oldestMs: groups.length === 0 ? undefined : Math.min(...groups.map(({ oldestMs }) => oldestMs)),
});

/** One that AWS cannot be asked about is as its record says. */
const isPaused = ({ state }: PausedFunction): boolean => state === undefined || isStopped(state);

const pausedLines = (
  paused: PausedFunction[] | undefined,
  { style, width, command }: Pick<Terminal, 'style' | 'width' | 'command'>,
): string[] => {
  if (paused === undefined) return ['Whether functions are paused is not known.'];
  return paused.flatMap((each) => [
    ...wrapped(plain(pausedText(each)), width, '  ').map((line) => style('red', line)),
    ...wrapped(`→ To go on: ${command(`resume ${each.function}`)}`, width - 2, '  ').map((line) =>
      style('green', `  ${line}`),
    ),
  ]);
};

const pausedText = (paused: PausedFunction): string => {
  const { function: name, state, sinceMs, who } = paused;
  const since = sinceMs === undefined ? '' : ` since ${minuteOf(new Date(sinceMs).toISOString())}`;
  if (who === undefined)
    return `${name} is paused (${state})${since}: its event-source mapping was changed on AWS, and nobody wrote down why.`;
  const byWhom = pauseText(paused);
  if (!isPaused(paused))
    return `${name} was paused ${byWhom}; but its event-source mapping is ${state}: it was changed on AWS, or is about to be.`;
  return `${name} is paused (${state ?? 'as written down; AWS cannot be asked'}) ${byWhom}`;
};

type Told = { [Fact in keyof PauseRecord]?: PauseRecord[Fact] | undefined };

/** `since 2026-03-01 09:12 UTC by jane: the platform is moving`. */
export const pauseText = ({ sinceMs = 0, who = '', reason = '' }: Told): string =>
  `since ${minuteOf(new Date(sinceMs).toISOString())} by ${who}: ${reason}`;

const connectionLines = (connection: ConnectionReport | undefined, { style, width }: Terminal): string[] => {
  const problemLines = (text: string, colour: 'red' | 'green') =>
    wrapped(plain(text), width - 2, '  ').map((line) => style(colour, `  ${line}`));
  if (connection === undefined)
    return ['The platform was not asked, as its address is not known: PLATFORM_URL is not set.'];
  const { reachable, clockSkewSeconds, versions, authorizationDays, problems } = connection;
  const credential = credentialIn(connection);
  const mark = (isWell: boolean | undefined) =>
    isWell === undefined ? '?' : isWell ? style('green', '✓') : style('red', '✗');
  const known = versions.map(({ component, version }) => `${component} ${version}`).join(', ');
  return [
    `${mark(reachable)} ${reachable ? 'The platform answers' : 'The platform does not answer'}: ${connection.platform}`,
    ...wrapped(`${mark(credential.isWell)} ${credential.says}`, width, '  '),
    `${mark(versions.every(({ supported }) => supported !== false))} Versions in use: ${known}`,
    ...(Math.abs(clockSkewSeconds ?? 0) < 2 ? [] : [`  Its clock is ${skewOf(clockSkewSeconds ?? 0)} ours`]),
    ...(authorizationDays === undefined
      ? []
      : [`  A person must authorize again in ${countOf(Math.max(0, authorizationDays), 'day')}`]),
    ...problems.flatMap(({ what, remedy }) => [
      ...problemLines(what, 'red'),
      ...problemLines(`→ ${remedy}`, 'green'),
    ]),
  ];
};

const paceLines = ({ window, calls, sinceMs }: PaceStatus, { style, width }: Terminal): string[] => {
  const since = new Date(sinceMs).toISOString().slice(11, 16);
  if (calls === undefined || calls.length === 0) {
    const none = calls
      ? `No function has called it since ${since} UTC.`
      : 'What functions call is not known.';
    return wrapped(`${windowText(window)} ${none}`, width);
  }
  const [header = '', ...rows] = tableOf(
    [`Calls since ${since} UTC`, right('All'), right('Refused')],
    [...Map.groupBy(calls, ({ priority }) => priority)].flatMap(([priority, each]) => [
      [priority, ...callCells(each)],
      ...each.map((one) => [`  ${one.function}`, ...callCells([one])]),
    ]),
    width,
  );
  return [...wrapped(windowText(window), width), style('dim', header), ...rows];
};

const windowText = (window: PaceStatus['window']): string => {
  if (window === undefined) return 'The platform’s budget is not known.';
  if (window === 'none') return 'The platform tells no budget.';
  const { remaining, endsMs, budget, used } = window;
  const renewed = `it is renewed in ${Math.max(0, Math.ceil((endsMs - Date.now()) / 1000))} s`;
  return budget === undefined || used === undefined
    ? `The platform’s budget: ${numberOf(remaining)} credits are left; ${renewed}.`
    : `The platform’s budget: ${numberOf(budget)} credits, of which ${numberOf(used)} (${partOf(used, budget)}) are used; ${renewed}.`;
};

const callCells = (counts: CallCount[]): string[] => {
  const calls = counts.reduce((sum, each) => sum + each.calls, 0);
  const refused = counts.reduce((sum, each) => sum + each.refused, 0);
  return [numberOf(calls), refused === 0 ? '–' : `${numberOf(refused)} (${partOf(refused, calls)})`];
};

/** `12.5 %`. */
const partOf = (part: number, whole: number): string =>
  `${Math.round((1_000 * part) / Math.max(1, whole)) / 10} %`;

/** Reading proves nothing about changes: some platforms accept a key for GET that they refuse for a change. */
const credentialIn = ({
  credentialAccepted,
  changes,
}: ConnectionReport): { isWell: boolean | undefined; says: string } => {
  if (credentialAccepted === false)
    return { isWell: false, says: 'It does not take the service’s credential' };
  if (changes?.refused === 'yes')
    return {
      isWell: false,
      says: `${credentialAccepted ? 'It takes the service’s credential for reading, and' : 'It'} refuses it for changes since ${minuteOf(changes.since)}`,
    };
  if (credentialAccepted === undefined)
    return { isWell: undefined, says: 'Whether it takes the service’s credential is not known' };
  if (changes?.refused === 'untried')
    return {
      isWell: undefined,
      says: `It takes the service’s credential for reading; for changes it refused the one that the secret held until ${minuteOf(changes.last)}, and the new one was not tried yet`,
    };
  if (changes?.refused === 'no')
    return {
      isWell: true,
      says: 'It takes the service’s credential, and has refused it for no change lately',
    };
  return {
    isWell: undefined,
    says: 'It takes the service’s credential for reading; for changes it is not known',
  };
};

const incidentLines = (
  { function: name, kind, sinceMs, lastMs, message, remedy }: Incident,
  { style, width }: Terminal,
): string[] => {
  const since = minuteOf(new Date(sinceMs).toISOString());
  const what = `${name} (${kind}) since ${since}, last ${ageOf(lastMs)} ago: ${message}`;
  return [
    ...wrapped(plain(what), width, '  ').map((line) => style('red', line)),
    ...wrapped(plain(`→ ${remedy}`), width - 2, '  ').map((line) => style('green', `  ${line}`)),
  ];
};

/** The functions tell why messages wait. Of those that they did not tell of, the probe of the platform may have met the reason. */
const waitingLines = ({ queues, connection, incidents, waiting }: Status, terminal: Terminal): string[] => {
  const count = queues.reduce((sum, { inFlight, delayed }) => sum + inFlight + delayed, 0);
  const told = waiting.reduce((sum, { messages, due, unknown }) => sum + messages - due - unknown, 0);
  const why =
    connection === undefined
      ? 'Why is not known, as the platform was not asked.'
      : connection.waitingFor
        ? `They wait (${connection.waitingFor.kind}): ${plain(connection.waitingFor.why)}.`
        : incidents?.length
          ? 'What is known of why stands below; all others are being handled, or go on at their next try, within 30 minutes.'
          : 'A probe of the platform met nothing to wait for: they are being handled, or go on at their next try, within 30 minutes. What single calls are refused for, the log of their function tells.';
  const others = Math.max(0, count - told);
  const flying = `${countOf(count, 'message is', 'messages are')} in flight.`;
  if (waiting.length === 0)
    return count === 0 ? ['Nothing waits.'] : wrapped(`${flying} ${why}`, terminal.width);
  return [
    '',
    ...waitingGroupLines(waiting, terminal),
    ...remarksOn(waiting).flatMap((remark) => wrapped(remark, terminal.width)),
    ...(others > 0
      ? wrapped(
          `${flying} ${countOf(others, 'is', 'are')} being handled, or ${others === 1 ? 'waits' : 'wait'} for ${others === 1 ? 'its' : 'their'} turn to call the platform.`,
          terminal.width,
        )
      : []),
    ...wrapped(
      `One by one: ${terminal.command('waiting')}. Once a cause is gone: ${terminal.command(wakeOf(waiting))}`,
      terminal.width,
      '  ',
    ).map((line) => terminal.style('dim', line)),
  ];
};

const byKind = (groups: Group[]) =>
  [...Map.groupBy(groups, ({ kind }) => kind)]
    .map(([kind, each]) => ({
      kind,
      letters: each.reduce((sum, { letters }) => sum + letters, 0),
      oldestMs: Math.min(...each.map(({ oldestMs }) => oldestMs)),
      newestMs: Math.max(...each.map(({ newestMs }) => newestMs)),
    }))
    .sort((one, other) => other.letters - one.letters);
