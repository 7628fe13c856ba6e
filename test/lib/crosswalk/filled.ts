import { gzipSync } from 'node:zlib';
import type { CrosswalkKind } from '../../../lib/crosswalk/kinds.ts';
import { filledFolder } from '../../../lib/crosswalk/moved.ts';

type Name = [name: string, ids: number | number[], was?: number];

/** An object of the bucket: what names stand for, as the platform lists them and the fill keeps it. */
export const filled = (kind: CrosswalkKind, names: Name[]): [key: string, content: Buffer] => [
  `${filledFolder}${kind}-platform.gz`,
  gzipSync(names.map(([name, ids, was = '']) => `ab\t${JSON.stringify(name)}\t${ids}\t${was}\n`).join('')),
];
