/** In credits, from the platform's last answer. */
export type Budget = { budget: number; remaining: number; endsMs: number; cost: number };
