//! Linux process mechanics.
