import * as z from 'zod';
import type { Platform } from './client.ts';
import { operation, reading } from './operation.ts';

// Neither path nor shape of these objects is documented: this is a default that configuration overrides.
const object = {
  component: 'eP',
  defaultVersion: '2.5',
  path: '/object/{objectId}',
  scope: 'core:*:*',
  repeatable: true,
} as const;

export const getEPortfolioObject = reading({
  ...object,
  name: 'read-e-portfolio-object',
  method: 'GET',
  answer: z.looseObject({}),
});

/** An ePortfolio object as the platform has it, with its geotag metadata. */
export const readEPortfolioObject = (platform: Platform, objectId: number) =>
  platform.call(getEPortfolioObject, { path: { objectId } });

export const putEPortfolioObject = operation({ ...object, name: 'update-e-portfolio-object', method: 'PUT' });

/** Replaces an ePortfolio object. How geotag metadata gets filled in is the platform's own: it goes back as it came. */
export const updateEPortfolioObject = (
  platform: Platform,
  objectId: number,
  content: Record<string, unknown>,
) => platform.call(putEPortfolioObject, { path: { objectId }, json: content });
