/**
 * Refuses a system that this provider can't run on when it is loaded: to be imported first, before what loads the addon.
 * @module dsh-subprocess-native/lib/local/here
 */
import { requirePlatform } from './platform.js'

requirePlatform(process.platform)
