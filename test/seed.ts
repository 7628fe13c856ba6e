import fc from 'fast-check';

// The same cases in each run, so that a red run is red because of a change; `SEED=…` tries others, as the workflow
// `explore` does each week.
export const seed = Number(process.env.SEED ?? 1);

/** Of generated cases: a third of them each day, as they are always the same, and all where others are tried. */
export const runs = (many: number): number => (process.env.SEED === undefined ? Math.ceil(many / 3) : many);

/** The same of cases in a row: from one that is tried to the next. */
export const stride = 3 / runs(3);

fc.configureGlobal({ seed, numRuns: runs(100) });
