// HOT PATH: finds the data of a body in what arrives, without copying it.
// Guarded by bench/http1-body.ts; equals test/fuzz/http1-body.plain.ts on any input.
// Liberties: one object for all bodies of a connection; a range is two numbers.

import { ChunkReader, beginChunks, readChunks } from './chunked.ts'
import type { Framing } from './message.ts'
import { refuse } from './refusals.ts'
