import type { DriveAnswered } from './driver.ts';
import { interleaved, valuesOf, withDrivers } from './drivers.ts';
import type { Environment } from './environment.ts';
import { atMostTimes, type Figure, type Section, spreadsOf } from './figures.ts';
import { launch } from './processes.ts';
import { continued } from './statistics.ts';

export type MessagesScale = {
  /** Fresh processes of each, as no two are compiled alike. */
  launches: number;
  rounds: number;
  warmUps: number;
  /** In each round, by the platform's latency; with the ledger no more than so many, as its emulator is slow. */
  messages: { 0: number; 20: number; ledger: number };
};

export const ours = 'sis-relay';
export const ledger = 'sis-relay with its ledger';
export const raw = 'raw undici';
export const team = 'middy, Powertools, axios';

const gradePushSource = new URL('../../functions/grade-push.ts', import.meta.url);
export const teamSource = new URL('peers/team-stack.ts', import.meta.url);

/** A message through the whole handler: parsed, signed, sent, counted and logged to a pipe that is read. */
export const measureMessages = async (environment: Environment, scale: MessagesScale): Promise<Section> => {
  const { settings } = environment;
  const table = launch<{ table: string }, { url: string }>({
    program: new URL('ledger-server.ts', import.meta.url),
  });
  try {
    const { url } = await table.ask({ table: 'ledger' });
    const withLedger = { ...settings, LEDGER_TABLE: 'ledger', AWS_ENDPOINT_URL_DYNAMODB: url };
    const gradePush = (await environment.bundleOf(gradePushSource)).url;
    const subjects = {
      [raw]: { module: new URL('peers/raw-undici.ts', import.meta.url).href, env: settings },
      [ours]: { module: gradePush, env: settings },
      [team]: { module: (await environment.bundleOf(teamSource)).url, env: settings },
      [ledger]: { module: gradePush, env: withLedger },
    };
    const answers: Record<'0' | '20', Record<string, DriveAnswered[]>> = { 0: {}, 20: {} };
    for (let at = 0; at < scale.launches; at += 1)
      await withDrivers(subjects, async (drivers) => {
        for (const latency of ['0', '20'] as const) {
          await environment.setLatency(Number(latency));
          const { messages } = scale;
          const asked = (name: string) => ({
            kind: 'grade-push' as const,
            batchSize: 10,
            messages: Math.min(
              messages[latency],
              name === ledger ? messages.ledger : Number.POSITIVE_INFINITY,
            ),
          });
          // What is warm stays so: the second series has only the new latency to get used to.
          const warmUps = latency === '0' ? scale.warmUps : 1;
          const measured = await interleaved(drivers, { asked, rounds: scale.rounds, warmUps });
          answers[latency] = continued(answers[latency], measured);
        }
      });
    return {
      title: 'A message',
      about:
        'grade-push as packaged, one request a message, batches of 10, in a container that is warm: what it costs until then is ' +
        'under Growth. Only the handler’s process is counted: platform, ' +
        'Secrets Manager and the ledger’s table are other processes.',
      figures: (['0', '20'] as const).flatMap((latency) =>
        figuresOf(`the platform answers after ${latency} ms`, answers[latency]),
      ),
    };
  } finally {
    await environment.setLatency(0);
    await table.close();
  }
};

const figuresOf = (when: string, answers: Record<string, DriveAnswered[]>): Figure[] => {
  const cpu = valuesOf(answers, ({ cpuMs, messages }) => (cpuMs * 1000) / messages);
  const { [ours]: mine = [], [raw]: least = [], [team]: usual = [] } = cpu;
  return [
    {
      name: `CPU a message, ${when}`,
      unit: 'µs',
      values: spreadsOf(cpu),
      floors: [
        atMostTimes(1.5, { peer: raw, ours: mine, theirs: least }),
        atMostTimes(0.35, { peer: team, ours: mine, theirs: usual }),
      ],
    },
    {
      name: `Messages a second in one container, ${when}`,
      unit: 'messages/s',
      values: spreadsOf(valuesOf(answers, ({ wallMs, messages }) => (messages * 1000) / wallMs)),
      floors: [],
    },
  ];
};
