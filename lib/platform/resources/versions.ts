import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';

export const getVersions = reading({
  name: 'list-versions',
  call: 'GET /versions/',
  scope: undefined,
  anonymous: true,
  answer: z.array(
    z.looseObject({
      ProductCode: z.string(),
      LatestVersion: z.string(),
      SupportedVersions: z.array(z.string()),
    }),
  ),
});

export const listVersions = (platform: Platform) => platform.call(getVersions);
