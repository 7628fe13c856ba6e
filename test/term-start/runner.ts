import { answerParent } from '../bench/processes.ts';
import { type Result, resultOf } from './result.ts';
import { ungated, variants } from './variants.ts';

/** What a process of its own is asked to simulate. */
export type Asked = { name: string; seed: number };

answerParent<Asked, Result>(async ({ name, seed }) => {
  const variant = [...variants, ...ungated].find((each) => each.name === name);
  if (variant === undefined) throw new Error(`No variant is called ${name}`);
  return resultOf(variant, seed);
});
