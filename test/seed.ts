import fc from 'fast-check';

// The same cases in each run, so that a red run is red because of a change; `SEED=…` tries others, as the workflow
// `explore` does each week.
export const seed = Number(process.env.SEED ?? 1);

fc.configureGlobal({ seed });
