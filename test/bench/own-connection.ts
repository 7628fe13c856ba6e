import { interleaved, valuesOf, withDrivers } from './drivers.ts';
import type { Environment } from './environment.ts';
import { type Section, spreadsOf } from './figures.ts';

export type OwnConnectionScale = { rounds: number; warmUps: number; calls: number };

/** What it costs that a call which must not be sent twice never meets a stale keep-alive socket. */
export const measureOwnConnection = async (
  environment: Environment,
  { rounds, warmUps, calls }: OwnConnectionScale,
): Promise<Section> => {
  const { servers, settings } = environment;
  const subject = (PLATFORM_URL: string, REPEATABLE: string) => ({
    module: new URL('one-call.ts', import.meta.url).href,
    env: { ...settings, PLATFORM_URL, REPEATABLE },
  });
  const subjects = {
    'kept, plain': subject(servers.platform, 'true'),
    'its own, plain': subject(servers.platform, 'false'),
    'kept, TLS': subject(servers.platformTls, 'true'),
    'its own, TLS': subject(servers.platformTls, 'false'),
  };
  // One after the other, so that the time is that of one call.
  const asked = () => ({ kind: 'grade-push' as const, messages: calls, batchSize: 1 });
  const answers = await withDrivers(subjects, (drivers) => interleaved(drivers, { asked, rounds, warmUps }));
  return {
    title: 'A connection of its own',
    about:
      'A call that must not be sent twice does not use a connection that was kept: one that the platform closed while the ' +
      'function was frozen would be found out only after the call. On this machine, so without the network’s round trips: ' +
      'a connection takes one more of them, and with TLS two.',
    figures: [
      {
        name: 'CPU a call',
        unit: 'µs',
        values: spreadsOf(valuesOf(answers, ({ cpuMs }) => (cpuMs * 1000) / calls)),
        floors: [],
      },
      {
        name: 'Time a call',
        unit: 'ms',
        values: spreadsOf(valuesOf(answers, ({ wallMs }) => wallMs / calls)),
        floors: [],
      },
    ],
  };
};
