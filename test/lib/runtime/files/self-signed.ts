import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for one host name, made anew each time so that no private key lies in the repository. */
export const selfSigned = (hostname: string): { key: string; cert: string } => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
  const name = sequence(
    tagged(0x31, sequence(Buffer.from('0603550403', 'hex'), tagged(0x0c, Buffer.from('sis-relay test')))),
  );
  const day = 86_400_000;
  const validity = sequence(time(Date.now() - day), time(Date.now() + day));
  const alternativeName = sequence(
    Buffer.from('0603551d11', 'hex'),
    tagged(0x04, sequence(tagged(0x82, Buffer.from(hostname)))),
  );
  const toBeSigned = sequence(
    tagged(0xa0, Buffer.from('020102', 'hex')),
    Buffer.from('020101', 'hex'),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternativeName)),
  );
  const signature = Buffer.concat([Buffer.of(0), sign('sha256', toBeSigned, privateKey)]);
  const certificate = sequence(toBeSigned, ecdsaWithSha256, tagged(0x03, signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
};

const time = (atMs: number): Buffer =>
  tagged(0x18, Buffer.from(`${new Date(atMs).toISOString().replace(/\D/g, '').slice(0, 14)}Z`));

const sequence = (...items: Buffer[]): Buffer => tagged(0x30, Buffer.concat(items));

/** DER: a tag, the length in as many bytes as it needs, the content. */
const tagged = (tag: number, content: Buffer): Buffer => {
  const { length } = content;
  const header = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...header), content]);
};
