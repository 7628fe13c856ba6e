/** The platform's budget in credits, as its last answer told it. */
export type Budget = { budget: number; remaining: number; endsMs: number; cost: number };
