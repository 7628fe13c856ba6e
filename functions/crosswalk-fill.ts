import { fillJob } from '../lib/delivery/crosswalk/fill/fill.ts';
import { fillOperations } from '../lib/delivery/crosswalk/fill/listings.ts';
import { createFillServices } from '../lib/delivery/crosswalk/fill/services.ts';
import { durableHandler } from '../lib/delivery/durable/job.ts';
import { onceFromEnvironment } from '../lib/runtime/aws/environment.ts';
import { crosswalkSettingsFrom } from '../lib/runtime/aws/settings.ts';

/** What it may call of the platform, and so the scopes that it needs. */
export const operations = fillOperations;

const services = onceFromEnvironment((environment) => createFillServices(crosswalkSettingsFrom(environment)));

/**
 * On schedule and on demand: fills the table of what the SIS' names stand for. `{}` asks for org units and files,
 * `{"classlists":true}` for users by the classlists, too, and `{"acceptRemovals":true}` removes what the sources lack, however much it
 * is. One at a time: another one waits for its turn.
 */
export const handler = durableHandler(fillJob(services));
