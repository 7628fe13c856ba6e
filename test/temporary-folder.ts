import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/**
 * A new folder for a test file, its hook or its test: removed when the file ends, also where something fails. A file whose tests are all
 * long begins with `// @module-tag long`, so that it is not loaded where they are left out: no hook would run for it.
 */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-test-'));
  folders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}
