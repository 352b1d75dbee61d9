/** What one attack over HTTP/2 costs, as `npm run bench http2` measured it, rounded up. */
interface FloodCost {
  readonly attack: string
  /** What ends it. */
  readonly limit: string
  /** The label `kind` of portcullis_http2_floods_total. */
  readonly kind: string
  /** Milliseconds of CPU until the connection is closed, and megabytes of memory. */
  readonly cpu: number
  readonly memory: number
}

const COSTS: readonly FloodCost[] = [
  cost('requests that are reset at once', '`http2MaxResetsPerSecond`', 'resets', 110, 15),
  cost('malformed requests', '`http2MaxResetsPerSecond`', 'resets', 30, 4),
  cost('windows of streams that overflow', '`http2MaxResetsPerSecond`', 'resets', 90, 8),
  cost('PING', '`http2MaxControlFramesPerSecond`', 'pings', 120, 52),
  cost('SETTINGS', '`http2MaxControlFramesPerSecond`', 'settings', 110, 16),
  cost('empty DATA frames', '`http2MaxControlFramesPerSecond`', 'empty-frames', 100, 9),
  cost('PRIORITY, PRIORITY_UPDATE', '`http2MaxControlFramesPerSecond`', 'priorities', 120, 3),
  cost('WINDOW_UPDATE of one byte', '65,536 bytes a second', 'window-updates', 100, 6),
  cost('frames of unknown types', '65,536 bytes a second', 'overhead', 100, 4),
  cost('CONTINUATION without end', '64 frames', 'header-frames', 120, 6),
  cost('a head without end', '64 KiB', 'header-frames', 100, 12),
]

/** Of one idle connection, and of one request that waits. */
const [CONNECTION_KIB, STREAM_KIB] = [50, 6]

/** A section of the page of limits. */
export function renderFloodCosts(): string {
  const rows = COSTS.map(
    ({ attack, limit, kind, cpu, memory }) =>
      `| ${attack} | ${limit} | \`${kind}\` | ${cpu} ms | ${memory} MB |`,
  )
  return `## What attacks over HTTP/2 cost

All that one client can send on one connection until the gateway closes it, with the default limits: CPU time of the whole process, and how much its memory grew. \`npm run bench http2\` measures it.

| attack | ended by | \`kind\` of \`portcullis_http2_floods_total\` | CPU | memory |
|---|---|---|---|---|
${rows.join('\n')}

An idle connection holds about ${CONNECTION_KIB} KiB, and a request that waits ${STREAM_KIB} KiB and what it sent of its body, which \`http2WindowSize\` and \`http2ConnectionWindowSize\` limit. Pieces of 32 KiB and more wait in the buffer of 128 KiB that they were read to. A client that does not read has at most 1 MiB waiting for it, and the responses to its requests under way. It is counted as \`unread\` if its connection is closed for that.

Each connection that ends as a flood is counted in \`portcullis_http2_floods_total\`, and one that breaks the protocol otherwise (a frame that is too long, more bytes than a window has, a header block that cannot be decoded) in \`portcullis_http2_errors_total\` by the code of its GOAWAY. The log has both as \`http2\`, with the address of the client, at most once a second of each kind.`
}

function cost(attack: string, limit: string, kind: string, cpu: number, memory: number): FloodCost {
  return { attack, limit, kind, cpu, memory }
}
