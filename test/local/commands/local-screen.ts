import { plain } from '../../../lib/runtime/privacy/printable.ts';
import { type Attempt, attemptsIn } from '../scenarios/play.ts';
import type { StackDescription } from '../stack.ts';
import { createScreen } from './screen.ts';

/** An event's id, as most producers make them. */
const idLength = 36;

/** What `npm run local` shows to a person: where everything is, what to type next, and what becomes of each message. */
export function createLocalScreen(stream: NodeJS.WriteStream = process.stdout) {
  const screen = createScreen(idLength, { stream, isLong: true });
  let isParkingExplained = false;
  screen.say('Starting queues, files, secrets, a table, the functions and a learning platform …');

  const attempt = (made: Attempt): void => {
    const { outcome, status, reason, eventId, messageId } = made;
    screen.attempt(made, plain(eventId ?? messageId));
    // Where the platform answered, that says it.
    if (reason !== undefined && status === undefined) screen.note(plain(reason));
    if (outcome !== 'parked' || isParkingExplained) return;
    isParkingExplained = true;
    screen.note('A dead letter now. Who must do what:');
    screen.note('npx sis-relay letters groups --local');
  };

  const trouble = (text: string): void => {
    screen.verdict(false, plain(text));
  };

  return {
    trouble,

    up: (stack: StackDescription, { functions }: { functions: boolean }): void => {
      const { platform, sqs, s3, secretsManager, dynamodb, lambda } = stack;
      screen.say();
      screen.heading('sis-relay is up, all of it on this machine');
      screen.rows([
        ['platform', platform],
        ['queues', sqs],
        ['files', s3],
        ['secrets', secretsManager],
        ['table', dynamodb],
        ['functions', functions ? lambda : 'none are started: messages stay on their queues'],
        ['all of it', '.local/stack.json, as long as this runs'],
      ]);
      screen.say();
      screen.heading('Type in another terminal, in this folder or one below it');
      screen.rows(next);
      screen.say();
      screen.say('Ctrl-C stops it, and all that it holds is gone. Below: what becomes of each message.');
      screen.say();
    },

    /** Of what tells of no message, only trouble is shown: the rest is for programs. */
    log: (functionName: string, line: string): void => {
      const attempts = attemptsIn(line);
      for (const made of attempts) attempt({ ...made, function: made.function ?? functionName });
      if (attempts.length > 0) return;
      if (!line.startsWith('{') || /"level":"(WARN|ERROR)"/.test(line))
        trouble(`${functionName}: ${messageIn(line)}`);
    },

    stopping: (): void => {
      screen.say();
      screen.say('Stopping: what is being handled comes to its end.');
    },
  };
}

const next: [string, string][] = [
  ['npx sis-relay publish events/grade-push.json --local --now', 'sends a grade'],
  ['npx sis-relay status --local', 'shows the state of the stack'],
  ['npx sis-relay letters groups --local', 'shows what failed, and who must do what'],
  ['npx sis-relay console --local', 'shows all of it in a browser'],
];

/** A line of log without what is there for programs. */
function messageIn(line: string): string {
  try {
    const { message = line, problems, reason, error } = JSON.parse(line);
    const parts = [
      reason,
      error?.message ?? error,
      ...(problems ?? []).map(({ what }: { what: string }) => what),
    ];
    return [message, ...parts.filter((each) => typeof each === 'string')].join(': ');
  } catch {
    return line;
  }
}
