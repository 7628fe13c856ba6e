import { answerParent } from '../bench/processes.ts';
import { type Told, tell } from './told.ts';
import { variantNamed } from './variants.ts';

/** What a process of its own is asked to simulate. */
export type Asked = { name: string; seed: number };

answerParent<Asked, Told>(async ({ name, seed }) => tell(variantNamed(name), seed));
