import { fillJob } from '../lib/options/crosswalk-fill/fill.ts';
import { createFillServices } from '../lib/options/crosswalk-fill/fill-services.ts';
import { fillSettings } from '../lib/options/crosswalk-fill/fill-settings.ts';
import { fillOperations } from '../lib/options/crosswalk-fill/listings.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { readSettings } from '../lib/runtime/aws/setting.ts';
import { durableHandler } from '../lib/runtime/jobs/engine.ts';

/** Calls that the function may make, which determine the scopes that it needs. */
export const operations = fillOperations;

const services = onceFromEnvironment((environment) =>
  createFillServices(readSettings(fillSettings, environment)),
);

/**
 * Runs on a schedule and on demand. Fills the table that maps the SIS' names to the platform's ids. `{}` reads org units and files;
 * `{"classlists":true}` also reads users from the classlists; `{"acceptRemovals":true}` removes all names
 * that the sources no longer have, however many they are. Runs take turns.
 */
export const handler = durableHandler(fillJob(services));
