import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';

export type ZipEntry = {
  name: string;
  content: Iterable<string | Buffer> | string | Buffer;
  /** What the central directory says falsely. */
  claims?: Partial<{ bytes: number; packedBytes: number; sum: number; flags: number; method: number }>;
};

/** Writes a zip as streams do: the sizes stand behind the data, and in the central directory. */
export async function writeZip(path: string, entries: ZipEntry[]): Promise<void> {
  const file = createWriteStream(path);
  let at = 0;
  const put = async (bytes: Buffer): Promise<void> => {
    at += bytes.length;
    if (!file.write(bytes)) await new Promise<void>((resolve) => file.once('drain', () => resolve()));
  };
  const directory: Buffer[] = [];
  for (const { name, content, claims = {} } of entries) {
    const start = at;
    const named = Buffer.from(name);
    const { flags = 8, method = 8 } = claims;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(named.length, 26);
    await put(Buffer.concat([local, named]));
    const packer = createDeflateRaw({ level: 1 });
    let [bytes, sum, packedBytes] = [0, 0, 0];
    const pieces = typeof content === 'string' || Buffer.isBuffer(content) ? [content] : content;
    const packed = (async () => {
      for await (const piece of packer) {
        packedBytes += piece.length;
        await put(piece);
      }
    })();
    for (const piece of pieces) {
      const data = Buffer.from(piece);
      bytes += data.length;
      sum = crc32(data, sum);
      if (!packer.write(data)) await new Promise<void>((resolve) => packer.once('drain', () => resolve()));
    }
    packer.end();
    await packed;
    const behind = Buffer.alloc(16);
    behind.writeUInt32LE(0x08074b50, 0);
    behind.writeUInt32LE(sum, 4);
    behind.writeUInt32LE(packedBytes, 8);
    behind.writeUInt32LE(bytes, 12);
    await put(behind);
    const header = Buffer.alloc(46);
    header.writeUInt32LE(0x02014b50, 0);
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(20, 6);
    header.writeUInt16LE(flags, 8);
    header.writeUInt16LE(method, 10);
    header.writeUInt32LE(claims.sum ?? sum, 16);
    header.writeUInt32LE(claims.packedBytes ?? packedBytes, 20);
    header.writeUInt32LE(claims.bytes ?? bytes, 24);
    header.writeUInt16LE(named.length, 28);
    header.writeUInt32LE(start, 42);
    directory.push(header, named);
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  await put(Buffer.concat([listed, end]));
  file.end();
  await finished(file);
}
