import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { listOf } from '../client/list-of.ts';
import { reading } from '../client/operation.ts';

export const getVersions = reading({
  name: 'list-versions',
  call: 'GET /versions/',
  scope: undefined,
  anonymous: true,
  answer: listOf(
    z.looseObject({
      ProductCode: z.string(),
      LatestVersion: z.string(),
      SupportedVersions: listOf(z.string()),
    }),
  ),
});

export const listVersions = (platform: Platform) => platform.call(getVersions);
