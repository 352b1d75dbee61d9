/** Cost of one HTTP/2 attack as measured by `npm run bench http2`, rounded up. */
interface FloodCost {
  readonly attack: string
  /** The limit that ends the attack. */
  readonly limit: string
  /** The label `kind` of portcullis_http2_floods_total. */
  readonly kind: string
  /** CPU milliseconds until the connection is closed, and megabytes of memory. */
  readonly cpu: number
  readonly memory: number
}

const COSTS: readonly FloodCost[] = [
  cost('requests that are reset immediately', '`http2MaxResetsPerSecond`', 'resets', 110, 15),
  cost('malformed requests', '`http2MaxResetsPerSecond`', 'resets', 30, 4),
  cost('overflowing stream windows', '`http2MaxResetsPerSecond`', 'resets', 90, 8),
  cost('PING', '`http2MaxControlFramesPerSecond`', 'pings', 120, 52),
  cost('SETTINGS', '`http2MaxControlFramesPerSecond`', 'settings', 110, 16),
  cost('empty DATA frames', '`http2MaxControlFramesPerSecond`', 'empty-frames', 100, 9),
  cost('PRIORITY, PRIORITY_UPDATE', '`http2MaxControlFramesPerSecond`', 'priorities', 120, 3),
  cost('WINDOW_UPDATE frames of one byte', '65,536 bytes a second', 'window-updates', 100, 6),
  cost('frames of unknown types', '65,536 bytes a second', 'overhead', 100, 4),
  cost('endless CONTINUATION frames', '64 frames', 'header-frames', 120, 6),
  cost('endless header block', '64 KiB', 'header-frames', 100, 12),
]

/** Memory of one idle connection, and of one pending request. */
const [CONNECTION_KIB, STREAM_KIB] = [50, 6]

/** Renders the section of the limits page. */
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

An idle connection uses about ${CONNECTION_KIB} KiB, and a waiting request ${STREAM_KIB} KiB plus the part of its body that was received, which \`http2WindowSize\` and \`http2ConnectionWindowSize\` limit. Pieces of 32 KiB and more stay in the 128 KiB buffer that they were read into. At most 1 MiB is buffered for a client that does not read, in addition to the responses to its requests in flight. If its connection is closed because of that, it is counted as \`unread\`.

Each connection that is closed because of a flood is counted in \`portcullis_http2_floods_total\`; other protocol violations (an oversized frame, an exceeded window, a header block that cannot be decoded) are counted in \`portcullis_http2_errors_total\` by the error code of the GOAWAY frame. Both are logged with the scope \`http2\` and the address of the client, at most once per second and kind.`
}

function cost(attack: string, limit: string, kind: string, cpu: number, memory: number): FloodCost {
  return { attack, limit, kind, cpu, memory }
}
