import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'

const { PODS, READINESS_PORT, CONFIG, SERVICE } = process.env
const ports = JSON.parse(process.env.PORTS).filter(({ protocol }) => protocol === 'TCP')

/** What every pod serves: the configuration of this revision, or another one. */
async function compare() {
  const pods = await lookup(PODS, { all: true })
  const served = await Promise.all(pods.map(({ address, family }) => askPod(address, family)))
  const others = served.filter(({ config }) => config !== CONFIG)
  if (others.length > 0) throw new Error(others.map(({ message }) => message).join('\n'))
  return `${pods.length} pods serve the configuration of this revision`
}

async function askPod(address, family) {
  const host = family === 6 ? `[${address}]` : address
  const url = `http://${host}:${READINESS_PORT}/healthz/config`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    const [config, newer] = (await response.text()).split('\n')
    if (newer === `rejected ${CONFIG}`) {
      console.log(`the pod at ${address} rejected this configuration, and says why in its log`)
      process.exit(1)
    }
    return { config, message: `the pod at ${address} serves another configuration, ${config}` }
  } catch (error) {
    return { message: `the pod at ${address} does not respond: ${error.cause ?? error}` }
  }
}

async function ask({ name = '', port }) {
  if (/^http(?!s)/.test(name)) {
    const signal = AbortSignal.timeout(5000)
    const { status } = await fetch(`http://${SERVICE}:${port}/`, { signal })
    return `${SERVICE}:${port} responds with ${status}`
  }
  await new Promise((resolve, reject) => {
    const socket = connect(port, SERVICE)
    socket.setTimeout(5000, () => socket.destroy(new Error('nothing came in 5 s')))
    socket.on('connect', resolve).on('error', reject)
    socket.on('connect', () => socket.destroy())
  })
  return `${SERVICE}:${port} takes connections`
}

/** A change takes a minute or two to reach running pods, a new service a moment. */
async function eventually(seconds, look) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    try {
      console.log(await look())
      return true
    } catch (error) {
      if (Date.now() > end) {
        console.log(`${error.cause ?? error}`)
        return false
      }
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
  }
}

const outcomes = await Promise.all([
  eventually(150, compare),
  ...ports.map((port) => eventually(30, () => ask(port))),
])
process.exit(outcomes.every(Boolean) ? 0 : 1)
