import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const usualPlaces = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  ...['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'].flatMap((name) => {
    const folder = process.env[name];
    return folder === undefined ? [] : [join(folder, 'Google/Chrome/Application/chrome.exe')];
  }),
];

/** The browser of this machine: the one that CHROMIUM names, one of the path, or one where they usually are. Undefined: there is none. */
export const browserPath = (): string | undefined => {
  const { CHROMIUM, PATH = '' } = process.env;
  if (CHROMIUM) return existsSync(CHROMIUM) ? CHROMIUM : undefined;
  const inPath = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
    PATH.split(delimiter).map((folder) => join(folder, name)),
  );
  return [...inPath, ...usualPlaces].find((path) => existsSync(path));
};
