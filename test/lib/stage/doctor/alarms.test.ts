import { expect, test } from 'vitest';
import { fillOfMetrics, suppression } from '../../../../lib/stage/doctor/alarms.ts';
import { runDoctor } from '../../../../lib/stage/doctor/doctor.ts';
import type { Step } from '../../../../lib/stage/doctor/step.ts';
import { never, officesForTests } from '../../desk/cli/office.ts';
import { type Play, playedCloudWatch } from './cloudwatch.ts';

const offices = officesForTests();

const tried = async (step: Step, play: Play) => {
  const { target } = await offices.open();
  const cloudWatch = playedCloudWatch(play);
  const report = await runDoctor(target, '1f2e3d4c', {
    steps: [step],
    signal: never,
    isAws: true,
    corner: { secondMs: 0.01, cloudWatch: async () => cloudWatch.client },
  });
  expect([cloudWatch.alarms(), report.left]).toEqual([[], []]);
  expect(cloudWatch.called.filter((call) => !step.rights.includes(call))).toEqual([]);
  return report.steps[0];
};

test('an alarm over metrics of which one never had data rings and ends as the template takes for granted', async () => {
  expect(await tried(fillOfMetrics, {})).toMatchObject({
    is: 'as-expected',
    saw: 'counted rang after about 0 min; counted ended after about 5 min; bare had no data after about 5 min; fell-silent rings on after about 10 min; never-spoke is OK',
  });
});

test.each<[string, Play, string]>([
  ['FILL makes 0 of a metric that never had data', { neverHadData: 0 }, 'never-spoke rang after about 0 min'],
  [
    'an alarm keeps the state of its last data',
    { endsWithData: false },
    'counted rang after about 0 min; fell-silent',
  ],
  ['what fell silent is forgotten', { forgets: true }, 'counted ended after about 5 min; bare'],
  ['MIN takes all of the time it looks back on as one', { minOfAll: true }, 'speaks rang after about 1 min'],
])('it is different if %s', async (_, play, saw) => {
  const { is, saw: said } = (await tried(fillOfMetrics, play)) ?? {};
  expect([is, said]).toEqual(['different', expect.stringContaining(saw)]);
});

test('how long an alarm without FILL keeps its state is told, and not judged', async () => {
  const { is, saw } = (await tried(fillOfMetrics, { bareMinutes: 1_000 })) ?? {};
  expect([is, saw]).toEqual(['as-expected', expect.stringContaining('without FILL, it is OK to the end')]);
});

test('an alarm is silent while its suppressor rings, and for a while after it', async () => {
  expect(await tried(suppression, {})).toMatchObject({
    is: 'as-expected',
    saw: 'suppressed by Alarm; then suppressed by ExtensionPeriod; then suppressed by nothing',
  });
  expect(await tried(suppression, { suppresses: false })).toMatchObject({
    is: 'different',
    saw: 'ALARM, suppressed by nothing',
  });
});
