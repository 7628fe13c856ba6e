import { inject } from 'vitest';
import { type Packaged, readPackaged } from './packaged.ts';

/** The project, packaged for a stage: once, before all tests. */
export const packagedProject = (stage: 'local' | 'prod' = 'local'): Promise<Packaged> =>
  readPackaged(inject('packages')[stage]);
