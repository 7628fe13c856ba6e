import { kept } from './history/kept.ts';
import { live } from './history/live.ts';

const base = kept.at(-1)!.history;
const go = { do: 'go on', pick: 0, fate: 'well' } as const;
const key = (x: unknown) => JSON.stringify(x);
const bad: string[] = [];
const n = base.steps.length;
for (let i = 5; i <= n; i++)
  for (let k = 0; k <= 2; k++)
    for (let j = i; j <= n; j++)
      for (let l = 0; l <= 2; l++) {
        const steps = [...base.steps];
        steps.splice(j, 0, ...Array(l).fill(go));
        steps.splice(i, 0, ...Array(k).fill(go));
        const { problems } = await live({ ...base, steps });
        if (problems.length) bad.push(key([i, k, j, l, problems[0]]));
      }
console.log(bad.slice(0, 8).join('\n'), bad.length);
