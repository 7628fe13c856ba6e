import { inflateRawSync } from 'node:zlib';

export type ZipEntry = { name: string; data: Buffer };

/** Reads a zip by its central directory, as Lambda does. */
export function unzip(zip: Buffer): ZipEntry[] {
  const end = zip.lastIndexOf('PK\x05\x06');
  const entries: ZipEntry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const name = zip.toString('utf8', at + 46, at + 46 + nameBytes!);
    const header = zip.readUInt32LE(at + 42);
    const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
    const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20));
    entries.push({ name, data: zip.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed) });
    at += 46 + nameBytes! + extraBytes! + commentBytes!;
  }
  return entries;
}
