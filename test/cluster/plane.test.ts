// Properties of the whole control plane, all on one cluster.

import { after, before, describe } from 'node:test'
import { describeFaults } from './faults.ts'
import { Forwarder } from './forwarder.ts'
import { missing } from './harness.ts'
import { describeInference } from './inference.ts'
import { describeIsolation } from './isolation.ts'
import { describePages, describeUninstall } from './pages.ts'
import { describePermissionsByUse } from './permissions-by-use.ts'
import { ownAddress, type Plane, startPlane } from './plane.ts'
import { describeSpecification } from './specification.ts'

const reason = missing() ?? (ownAddress === undefined ? 'only loopback is here' : undefined)
const options = reason === undefined ? {} : { skip: reason }

describe('a control plane', options, () => {
  let plane: Plane
  let apiServer: Forwarder
  before(async () => {
    const values = { inferenceExtension: { enabled: true }, xBackend: { enabled: true } }
    plane = await startPlane({ ports: 72, audit: true, values })
    apiServer = new Forwarder(plane.cluster.port)
    await apiServer.open()
    plane.controllerStart = {
      env: {
        PORTCULLIS_INFERENCE_EXTENSION_ENABLED: 'true',
        PORTCULLIS_XBACKEND_ENABLED: 'true',
      },
      apiServer: apiServer.port,
    }
    plane.controller = await plane.programs.startController(plane.controllerStart)
  })
  after(async () => {
    await plane?.close()
    await apiServer?.cut()
  })

  // Runs first: it uses names that other suites use, too.
  describePages(() => plane)
  describeSpecification(() => plane)
  describeIsolation(() => plane)
  describeInference(() => plane)
  describeFaults(() => ({ plane, apiServer }))
  // Checks all earlier requests.
  describePermissionsByUse(() => plane)
  describeUninstall(() => plane)
})
