import { simulate } from './fleet.ts';
import { judge } from './judge.ts';
import { hourMs } from './load.ts';
import { receiptsAt, waitSecondsAt } from './record.ts';
import { scenarioOf, ungated, variants } from './variants.ts';

const [, , names, part, seed] = process.argv;
const sum = (a: number[]) => a.reduce((x, y) => x + y, 0);
for (const v of [...variants, ...ungated].filter((v) => v.name.includes(names!))) {
  const t = performance.now();
  const s = scenarioOf({ ...v, part: Number(part ?? v.part) }, Number(seed ?? 1));
  const done = simulate(s);
  const { record, windows } = done;
  console.log(
    v.name,
    Math.round(performance.now() - t),
    'ms',
    record.lastMs / hourMs,
    'requests',
    sum(windows.map((w) => w.requests)),
  );
  for (const f of judge(s, done)) console.log(f.holds ? '  ✓' : '  ✗', f.name, f.measured);
  if (process.env.L)
    for (const lane of record.lanes)
      console.log(
        (s.load.functions[lane.nth]?.name ?? 'export').padEnd(24),
        lane.priority,
        lane.done,
        sum([...lane.calls]),
        'letters',
        lane.letters,
        'p95',
        waitSecondsAt(0.95, [lane]),
        'receipts p99',
        receiptsAt(0.99, [lane]),
        'max',
        receiptsAt(1, [lane]),
      );
  if (process.env.W)
    console.log(
      windows
        .map(
          (w, i) =>
            `${i}:${((w.ours + w.strangers) / w.budget).toFixed(3)}${record.work[i] === 60 ? 'w' : record.bulkWork[i] === 60 ? 'b' : ''}${w.refused ? 'r' + w.refused : ''}`,
        )
        .join(' '),
    );
}
