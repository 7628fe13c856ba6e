import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../../lib/operator/cli.ts';
import type { Terminal } from '../../../lib/operator/terminal.ts';
import { localOffice } from './local-office.ts';
import { type Office, officesForTests } from './office.ts';

const offices = officesForTests();
const local = localOffice({ functions: false });

type Given = { answers?: string[]; edit?: (text: string) => string; signal?: AbortSignal };

/** The command as a person would use it: what it prints, asks and answers. */
const sisRelay = async (line: string, { answers, edit = (text) => text, signal }: Given = {}) => {
  const said = { out: '', err: '', asked: [] as string[] };
  const terminal: Terminal = {
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    isLive: false,
    style: (_, text) => text,
    width: 100,
    ask: async (question) => {
      said.asked.push(question);
      return answers?.shift();
    },
    edit: async (text) => edit(text),
    signal: signal ?? new AbortController().signal,
  };
  const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  return { status: await run(args, terminal), ...said };
};
