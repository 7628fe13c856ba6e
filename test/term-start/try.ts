import { simulate } from './fleet.ts';
import { hourMs, termStart } from './load.ts';
import { receiptsAt, waitSecondsAt } from './record.ts';
const part = Number(process.argv[2] ?? 0.05);
const t = performance.now();
const load = termStart({ part });
const { record, windows, isDone } = simulate({ load, isGated: process.argv[3] !== 'off', seed: 1, maxMs: 72 * hourMs,
  platform: { budgetAt: () => 50_000, headers: process.argv[4] !== 'no', resetRounding: 'up', strangers: [], outage: undefined } });
const sum = (a: number[]) => a.reduce((x, y) => x + y, 0);
const work = windows.filter((_, at) => record.work[at] === 60);
console.log({ ms: performance.now() - t, isDone, lastH: record.lastMs / hourMs, requests: sum(windows.map((w) => w.requests)), refused: sum(windows.map((w) => w.refused)),
 work: work.length, use: sum(work.map((w) => w.ours)) / sum(work.map((w) => w.budget)), all: sum(windows.map(w=>w.ours))/sum(windows.map(w=>w.budget)) });
for (const lane of record.lanes) console.log((load.functions[lane.nth]?.name ?? 'export').padEnd(24), lane.priority, lane.done, sum([...lane.calls]), 'letters', lane.letters, 'p95', waitSecondsAt(0.95, [lane]), 'receipts p99', receiptsAt(0.99, [lane]), 'max', receiptsAt(1,[lane]));
if (process.env.W) console.log(windows.map((w,i)=>`${((w.ours+w.strangers)/w.budget).toFixed(3)}${record.work[i]===60?'w':record.bulkWork[i]===60?'b':''}${w.refused?'r'+w.refused:''}`).join(' '));
