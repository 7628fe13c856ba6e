/** As `/_local/<name>` answers by HTTP. */
type ControlHere = (method: string, name: string, body: string) => { status: number; text: string };

/** The platforms of this process, by address: whoever is in it needs no HTTP to control them, which takes most of the time. */
export const platformsHere = new Map<string, ControlHere>();
