import type { ReadAcceptedExports } from './accepted-exports.ts';
import type { Role } from './operate/stage/roles.ts';
import type { FunctionParts } from './operate/stage/template/functions/function-parts.ts';
import type { OptionDesk } from './show/option.ts';

/** A part of sis-relay that a deployment may do without: all of it is in a folder of `options`, which can be deleted. */
export type Option = {
  /** Of its folder. */
  name: string;
  /** Files in `functions/` that are its own. */
  functions: readonly string[];
  /** Options whose code it uses. */
  uses?: readonly string[];
  /** What people do with it, as typed, and the role that it needs. */
  roles?: Readonly<Record<string, Role>>;
  /** Titles of its screens in the head of each page of the console. Each is at its title in small letters. */
  tabs?: readonly string[];
  /** By path, what its forms do, as typed. */
  forms?: Readonly<Record<string, string>>;
  /** Paths of its forms that change nothing but what a screen shows. */
  looks?: readonly string[];
  /** What exports of the SIS say, for whoever compares it with the platform. */
  acceptedExports?(): Promise<{ readAcceptedExports: ReadAcceptedExports }>;
  /** What is deployed for it. Loaded by packaging alone. */
  stage(): Promise<{ stage: FunctionParts }>;
  /** Loaded by the command and the console alone: no function holds it. */
  desk?(): Promise<{ desk: OptionDesk }>;
};
